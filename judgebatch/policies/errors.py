"""What can go wrong with a policy or with the answers it is given."""

from judgebatch.vocabulary import AnswerError


class PolicyError(ValueError):
    """Base of everything that this package raises."""


class PolicyDefinitionError(PolicyError):
    """A rule, a policy, a question, or the text of one is wrong.

    ``line`` and ``column`` count from 1 and are set where the error is in a text; the message
    then begins with them. ``problem`` is the message without them.
    """

    def __init__(self, problem: str, *, line: int | None = None, column: int | None = None) -> None:
        where = "" if line is None else f"line {line}, column {column}: "
        super().__init__(where + problem)
        self.problem = problem
        self.line = line
        self.column = column


class PolicyAnswerError(PolicyError):
    """A selected answer is missing or malformed, so that nothing is decided.

    ``question`` is the rule's question, where one is concerned, and ``reason`` its token.
    """

    def __init__(
        self,
        problem: str,
        *,
        question: str | None = None,
        reason: AnswerError = AnswerError.MALFORMED_ANSWER,
    ) -> None:
        super().__init__(problem)
        self.question = question
        self.reason = reason
