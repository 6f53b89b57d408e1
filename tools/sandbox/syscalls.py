"""Build the seccomp filter of the system calls that a sandbox may not make.

Namespaces and limits do the confining; this closes their gaps: memory that no process limit counts (SysV shared memory,
memfd), sockets outside network namespaces (vsock reaches the hypervisor), the kernel's key rings of this user, and
kernel interfaces that no calculation needs. See: https://docs.kernel.org/userspace-api/seccomp_filter.html
"""

from __future__ import annotations

import errno
import platform
import struct

_ARCHITECTURES: dict[str, tuple[int, int]] = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}
"""Machine → column in the table below, and the kernel's name for its calling convention."""

_DENIED: dict[str, tuple[int | None, int | None]] = {
    "acct": (163, 89),
    "add_key": (248, 217),
    "adjtimex": (159, 171),
    "bpf": (321, 280),
    "chroot": (161, 51),
    "clock_adjtime": (305, 266),
    "clock_settime": (227, 112),
    "delete_module": (176, 106),
    "finit_module": (313, 273),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fsopen": (430, 430),
    "fspick": (433, 433),
    "init_module": (175, 105),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "io_uring_setup": (425, 425),
    "ioperm": (173, None),
    "iopl": (172, None),
    "kcmp": (312, 272),
    "kexec_file_load": (320, 294),
    "kexec_load": (246, 104),
    "keyctl": (250, 219),
    "memfd_create": (319, 279),
    "memfd_secret": (447, 447),
    "modify_ldt": (154, None),
    "mount": (165, 40),
    "mount_setattr": (442, 442),
    "move_mount": (429, 429),
    "mq_open": (240, 180),
    "msgget": (68, 186),
    "name_to_handle_at": (303, 264),
    "open_by_handle_at": (304, 265),
    "open_tree": (428, 428),
    "perf_event_open": (298, 241),
    "personality": (135, 92),
    "pidfd_getfd": (438, 438),
    "pivot_root": (155, 41),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "ptrace": (101, 117),
    "quotactl": (179, 60),
    "reboot": (169, 142),
    "request_key": (249, 218),
    "semget": (64, 190),
    "setns": (308, 268),
    "settimeofday": (164, 170),
    "shmat": (30, 196),
    "shmget": (29, 194),
    "swapoff": (168, 225),
    "swapon": (167, 224),
    "syslog": (103, 116),
    "umount2": (166, 39),
    "unshare": (272, 97),
    "uselib": (134, None),
    "userfaultfd": (323, 282),
    "vhangup": (153, 58),
    "vmsplice": (278, 75),
}
_SOCKET = (41, 198)
_SOCKETPAIR = (53, 199)
_CLONE3 = 435
_FAMILIES = (1, 2, 10)
"""Unix, IPv4 and IPv6: the families with namespaces."""
_X32 = 0x40000000
"""The bit of the x32 convention, which has other numbers."""

_LOAD, _EQUAL, _AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06
_NUMBER, _ARCH, _FIRST_ARGUMENT = 0, 4, 16
_ALLOW, _KILL, _ERROR = 0x7FFF0000, 0x80000000, 0x00050000


def program(machine: str = "") -> bytes | None:
    """Return the filter for this machine; None if its system call numbers are unknown."""
    known = _ARCHITECTURES.get(machine or platform.machine())
    if known is None:
        return None
    column, architecture = known
    rows = [
        _row(_LOAD, _ARCH),
        _row(_EQUAL, architecture, 1, 0),
        _row(_RETURN, _KILL),
        _row(_LOAD, _NUMBER),
        _row(_AT_LEAST, _X32, 0, 1),
        _row(_RETURN, _ERROR | errno.EPERM),
        # Its arguments are in memory, out of a filter's sight; the C library falls back to clone.
        _row(_EQUAL, _CLONE3, 0, 1),
        _row(_RETURN, _ERROR | errno.ENOSYS),
    ]
    for numbers in _DENIED.values():
        number = numbers[column]
        if number is not None:
            rows += [_row(_EQUAL, number, 0, 1), _row(_RETURN, _ERROR | errno.EPERM)]
    rows += [_row(_EQUAL, _SOCKET[column], 1, 0), _row(_EQUAL, _SOCKETPAIR[column], 0, len(_FAMILIES) + 2)]
    rows.append(_row(_LOAD, _FIRST_ARGUMENT))
    rows += [_row(_EQUAL, family, len(_FAMILIES) - place, 0) for place, family in enumerate(_FAMILIES)]
    rows += [_row(_RETURN, _ERROR | errno.EAFNOSUPPORT), _row(_RETURN, _ALLOW)]
    return b"".join(rows)


def _row(code: int, value: int, when_true: int = 0, when_false: int = 0) -> bytes:
    """Return one instruction: `struct sock_filter`; the jumps count the instructions to skip."""
    return struct.pack("=HBBI", code, when_true, when_false, value)
