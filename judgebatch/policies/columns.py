"""What a frame of answers must be, and what a policy may hold, for columns to carry them."""

import polars as pl

from judgebatch.policies.arguments import shown
from judgebatch.policies.binding import ValidatedPolicy
from judgebatch.policies.errors import PolicyAnswerError, PolicyDefinitionError
from judgebatch.vocabulary import AnswerType

DISTRIBUTION = pl.List(pl.Struct({"level": pl.Int64(), "probability": pl.Float64()}))

TYPES = pl.Enum([kind.value for kind in AnswerType])

ANSWER_COLUMNS: dict[str, pl.DataType] = {
    "tenant_id": pl.String(),
    "episode_id": pl.String(),
    "question": pl.String(),
    "answer_type": pl.String(),
    "probability": pl.Float64(),
    "choice": pl.String(),
    "confidence": pl.Float64(),
    "score": pl.Float64(),
    "probabilities": DISTRIBUTION,
}


def check_columns(answers: pl.DataFrame) -> pl.DataFrame:
    """Return the columns that evaluation reads, types as ``TYPES``, ``conflicting`` if it is there.

    Raises
    ------
    PolicyAnswerError
        One of them is missing or has another type.
    """
    for name, dtype in ANSWER_COLUMNS.items():
        found = answers.schema.get(name)
        if found is None:
            raise PolicyAnswerError(
                f"answers lack the column {name!r}; they have {', '.join(answers.columns)}"
            )
        if found != dtype:
            raise PolicyAnswerError(f"the column {name!r} of answers is {found}, not {dtype}")
    wanted = list(ANSWER_COLUMNS)
    if "conflicting" in answers.columns:
        if answers.schema["conflicting"] != pl.Boolean:
            raise PolicyAnswerError("the column 'conflicting' of answers is not Boolean")
        wanted.append("conflicting")
    # Numbers compare quicker than texts; a type that is none of them becomes null.
    return answers.select(wanted).with_columns(pl.col("answer_type").cast(TYPES, strict=False))


def check_representable(policy: ValidatedPolicy) -> None:
    """Check that columns can hold every text of ``policy``.

    Raises
    ------
    PolicyDefinitionError
        It is not validated, or a question or a required label holds half of a surrogate pair,
        which JSON can spell and no column holds: no answer could ever name it.
    """
    if not isinstance(policy, ValidatedPolicy):
        raise PolicyDefinitionError(
            f"{shown(policy)} is not a ValidatedPolicy; validate_policy makes one"
        )
    for bound in policy.bound:
        for text in (bound.rule.name, getattr(bound.rule, "choice", "")):
            if not is_representable(text):
                raise PolicyDefinitionError(
                    f"{shown(text)} holds half of a surrogate pair; no column can hold it"
                )


def is_representable(text: str) -> bool:
    """Say whether ``text`` is one that UTF-8, and so a column, can hold."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
