"""A job of the scripted model: a plan, three sums one after the other, and the answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from playground.model.reply import Reply


@dataclass(frozen=True, slots=True)
class Job:
    """A job that is worked on in steps."""

    steps: tuple[str, ...]
    sums: tuple[str, ...]
    said: tuple[str, ...]
    answer: str


JOB = {
    "en": Job(
        ("Price of each offer per month", "Price of each offer for three years", "Difference, and a recommendation"),
        ("1250 * 1.19", "1250 * 1.19 * 36", "1250 * 1.19 * 36 - 48000"),
        (
            "I look at each of the offers in turn, and begin with what they cost in a month, taxes included, as that "
            "is what has to be paid.",
            "The first step is done: I know what a month costs. Now I work out the three years of the contract, "
            "the time that all of the offers have in common.",
            "Two steps are done. What is left is the difference between the offers over these three years, and which "
            "of them I would take.",
        ),
        "The first offer costs {0} a month, and {1} in three years. The difference to the second one is {2}: take the "
        "second.\n\nThis is a scripted job; its sums are real.",
    ),
    "zh": Job(
        ("每个报价的月价", "每个报价三年的总价", "差额与建议"),
        ("1250 * 1.19", "1250 * 1.19 * 36", "1250 * 1.19 * 36 - 48000"),
        (
            "我依次查看每个报价，先算含税的月价，因为最后要付的就是这个数。",
            "第一步完成：月价已经知道。现在计算合同的三年，这是所有报价共同的期限。",
            "两步完成。剩下的是两个报价三年的差额，以及我会选哪一个。",
        ),
        "第一个报价每月 {0}，三年 {1}。与第二个的差额是 {2}：选第二个。\n\n这是脚本任务，计算是真的。",
    ),
}


def work(language: str, sums: Sequence[str], planned: int) -> Reply:
    """The next pass: `sums` are the results so far, and the plan was shown `planned` times."""
    job, done = JOB[language], len(sums)
    if done == len(job.sums):
        return Reply(job.answer.format(*(one.splitlines()[0] for one in sums)))
    if planned > done:
        return Reply(calls=(("calculator", {"expression": job.sums[done]}),))
    return Reply(job.said[done], calls=(("plan", {"steps": list(job.steps), "done": done}),))
