"""What a PostgreSQL role could do beyond reading, whatever the transaction it is in: found in the server's catalogue.

A read-only transaction keeps a role from writing to tables, and from nothing else: functions reach the server's files,
other sessions and other machines from it, and `set_config('role', …)` makes a role whatever it is a member of. What a
statement does cannot be seen from its text (`query_to_xml` runs another one), so it is asked what the role may do.
"""

from __future__ import annotations

# A member of these roles gains no more than their names say; a predefined role of a later version counts as powerful.
_READING_ROLES = "'pg_read_all_data', 'pg_read_all_settings', 'pg_read_all_stats', 'pg_stat_scan_tables'"

_FIRST_OWN_OID = 16384
"""Smaller numbers are what every database begins with. See: src/include/access/transam.h, FirstNormalObjectId"""

_ROLES = f"""
    SELECT r.oid, format('it is or can become %I', r.rolname) AS power,
        r.rolsuper OR r.rolcreaterole OR r.rolreplication OR r.rolbypassrls
        OR r.oid < {_FIRST_OWN_OID} AND r.rolname NOT IN ({_READING_ROLES}, 'pg_use_reserved_connections') AS strong
    FROM pg_catalog.pg_roles r WHERE pg_catalog.pg_has_role(session_user, r.oid, 'MEMBER')
"""

# Functions that every database begins with count if PostgreSQL lets only superusers and their grantees call them (files
# of the server, its configuration, its log). Added functions count if they are in a language that nothing confines
# (PL/Python, …), or in C where the author declares neither that they have no effect nor that they keep nothing between
# calls, and PostgreSQL does not trust the extension. Those are the ones that dial out (dblink, http, …); those that
# stay inside pass (pgcrypto, PostGIS, …). Functions in a confined language that run with their owner's rights are not
# examined: their author has granted those rights.
_FUNCTIONS = """
    SELECT format('it can call %s', p.oid::pg_catalog.regprocedure) AS power
    FROM pg_catalog.pg_proc p
    JOIN pg_catalog.pg_language l ON l.oid = p.prolang
    JOIN roles r ON pg_catalog.has_function_privilege(r.oid, p.oid, 'EXECUTE')
        AND pg_catalog.has_schema_privilege(r.oid, p.pronamespace, 'USAGE')
    WHERE p.oid < {own} AND EXISTS (
        SELECT 1 FROM pg_catalog.pg_init_privs i
        WHERE i.classoid = 'pg_catalog.pg_proc'::pg_catalog.regclass AND i.objoid = p.oid AND i.privtype = 'i'
        AND NOT EXISTS (SELECT 1 FROM pg_catalog.aclexplode(i.initprivs) a WHERE a.grantee <> p.proowner))
    OR p.oid >= {own} AND NOT l.lanpltrusted
        AND (l.lanname NOT IN ('c', 'internal') OR p.provolatile = 'v' AND p.proparallel <> 's')
        AND p.prorettype NOT IN ('trigger'::pg_catalog.regtype, 'event_trigger'::pg_catalog.regtype,
            'language_handler'::pg_catalog.regtype, 'fdw_handler'::pg_catalog.regtype,
            'internal'::pg_catalog.regtype)
        AND NOT EXISTS (SELECT 1 FROM pg_catalog.pg_foreign_data_wrapper w WHERE w.fdwvalidator = p.oid)
        AND NOT EXISTS (
            SELECT 1 FROM pg_catalog.pg_depend d JOIN pg_catalog.pg_extension e ON e.oid = d.refobjid
            JOIN pg_catalog.pg_available_extension_versions v ON v.name = e.extname AND v.version = e.extversion
            WHERE d.classid = 'pg_catalog.pg_proc'::pg_catalog.regclass AND d.objid = p.oid AND d.deptype = 'e'
            AND {trusted})
"""

_TABLES = """
    SELECT format('it may write to %s', c.oid::pg_catalog.regclass) AS power
    FROM pg_catalog.pg_class c
    JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
    JOIN roles r ON pg_catalog.has_table_privilege(r.oid, c.oid, 'INSERT, UPDATE, DELETE, TRUNCATE')
        OR pg_catalog.has_any_column_privilege(r.oid, c.oid, 'INSERT, UPDATE')
    WHERE c.relkind IN ('r', 'p', 'v', 'f') AND c.oid >= {own} AND n.nspname NOT LIKE 'pg\\_temp%'
"""


def powers_query(server: int) -> str:
    """A query for one value: the first thing found that the role of this session could do beyond reading, or NULL.

    Args:
        server: the server's major version.
    """
    # Before 13 no extension is marked as one that may be trusted.
    functions = _FUNCTIONS.format(own=_FIRST_OWN_OID, trusted="v.trusted" if server >= 13 else "false")
    tables = _TABLES.format(own=_FIRST_OWN_OID)
    return f"""
        WITH roles AS ({_ROLES}) SELECT COALESCE(
            (SELECT power FROM roles WHERE strong ORDER BY power LIMIT 1),
            ({functions} LIMIT 1), ({tables} LIMIT 1))
    """
