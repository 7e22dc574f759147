"""The tables of policies: answers as they are held, and what policies made of them."""

import dataframely as dy

from judgebatch.contracts import columns as c
from judgebatch.contracts.table import Table


def _measured(doc: str) -> dy.Float64:
    # NaN and infinities stay: a malformed answer is reported as one, not refused as a row.
    return dy.Float64(nullable=True, allow_inf=True, allow_nan=True, metadata={"doc": doc})


def _distribution(doc: str) -> dy.List:
    entry = dy.Struct(
        {
            "level": dy.Int64(nullable=True),
            "probability": dy.Float64(nullable=True, allow_inf=True, allow_nan=True),
        },
        nullable=True,
    )
    return dy.List(entry, nullable=True, metadata={"doc": doc})


class AnswerRows(Table):
    """Accepted answers, long: one row per answer to a question about an episode."""

    name = "answer_rows"
    kind = "state"
    order = (
        "tenant_id",
        "episode_id",
        "question",
        "answered_at",
        "source_file",
        "source_row",
    )

    tenant_id = c.text("The isolation boundary.")
    episode_id = c.text("The episode asked about.")
    question = c.text("The question's name.")
    answered_at = c.time("When the answer was given.")
    answer_type = c.text("noul, choice or score; anything else answers no question.", null=True)
    probability = _measured("Of a noul answer.")
    choice = c.text("The label of a choice answer.", null=True)
    confidence = _measured("Of a choice or score answer.")
    score = _measured("Expected score of a score answer.")
    probabilities = _distribution("Probability of each level of a score answer.")
    source_file = c.text("The input file.")
    source_row = c.count("The row's number in that file, from 0.")


class PendingAnswers(AnswerRows):
    """Accepted answers given after as_of."""

    name = "pending_answers"
    order = (
        "answered_at",
        "tenant_id",
        "episode_id",
        "question",
        "source_file",
        "source_row",
    )


class HeldAnswers(AnswerRows):
    """Answers that have not ended: those whose episode is not decided yet, and pending ones."""

    name = "held_answers"

    considered_at = c.time("Effective time, fixed when first considered; null: pending.", null=True)
    conflict_at = c.time("Effective time of the first different answer; null: none.", null=True)
    unknown_episode_window_us = c.count("Its window, fixed with its time.", null=True)


class AwaitingPolicies(Table):
    """Policies of considered episodes that have not been evaluated."""

    name = "awaiting_policies"
    kind = "state"
    order = ("tenant_id", "episode_id", "policy")

    tenant_id = c.text("The isolation boundary.", key=True)
    task_id = c.text("What makes two episodes of a tenant comparable.")
    episode_id = c.text("Identity inside the tenant.", key=True)
    policy = c.text("The policy's name.", key=True)
    policy_digest = c.text("Which text of that policy.")
    arrived_at = c.time("When the episode arrived.")
    effective_arrival = c.time("Its place in time, fixed when first considered.")
    judging_window_us = c.count("How long its answers are awaited; null: not.", null=True)


class PolicyDocuments(Table):
    """The policies that awaited episodes keep, with the questions that they name."""

    name = "policy_documents"
    kind = "state"
    order = ("policy_digest",)

    policy_digest = c.text("SHA-256 of the document, in hexadecimal.", key=True)
    document = c.text("The policy and its questions, JSON text.")


class _Published(Table):
    run = c.count("The run that published the row.")
    as_of = c.time("The logical time of that run.")
    tenant_id = c.text("The isolation boundary.", key=True)


class PolicyResults(_Published):
    """One row per episode and policy."""

    name = "audit/policy_results"
    order = ("tenant_id", "episode_id", "policy")

    task_id = c.text("What makes two episodes of a tenant comparable.")
    episode_id = c.text("Identity inside the tenant.", key=True)
    policy = c.text("The policy's name.", key=True)
    policy_digest = c.text("SHA-256 of the policy and its questions: which text decided.")
    policy_passed = c.flag(
        "Whether every rule was met; null where a rule was not evaluated.", null=True
    )
    error = c.text(
        "Why not, of the first such rule: missing_answer, conflicting_answer, "
        "wrong_answer_type or malformed_answer.",
        null=True,
    )
    decided_at = c.time("When its last needed answer had arrived, or its window ended.")


class PolicyReports(_Published):
    """One row per episode, policy and rule."""

    name = "audit/policy_reports"
    order = ("tenant_id", "episode_id", "policy", "rule")

    task_id = c.text("What makes two episodes of a tenant comparable.")
    episode_id = c.text("Identity inside the tenant.", key=True)
    policy = c.text("The policy's name.", key=True)
    rule = c.count("The rule's place in the policy, from 0.", key=True)
    question = c.text("The question that the rule is on.")
    passed = c.flag("Whether it was met; null where it was not evaluated.", null=True)
    detail = c.text("The comparison in words; null where it was not evaluated.", null=True)
    error = c.text(
        "Why it was not: missing_answer, conflicting_answer, wrong_answer_type or "
        "malformed_answer.",
        null=True,
    )


class PolicyCounts(_Published):
    """Episodes evaluated in a run, per tenant and policy: additive counts."""

    name = "audit/policy_counts"
    order = ("tenant_id", "policy")
    identified_by = ("run", "tenant_id", "policy")

    policy = c.text("The policy's name.", key=True)
    met = c.count("Episodes that met every rule.")
    unmet = c.count("Episodes that did not meet a rule.")
    not_evaluated = c.count("Episodes of which a needed answer was missing or broken.")
