"""Policies: thresholds over the answers of judges.

The scalar surface decides one episode; the columnar evaluator decides millions, with the same
results to the bit. No call leaves the process, and nothing here says that a model is right or
calibrated.
"""

from judgebatch.policies.answers import Answer, ChoiceAnswer, NoulAnswer, ScoreAnswer
from judgebatch.policies.binding import ValidatedPolicy, validate_policy
from judgebatch.policies.columnar import Evaluation, evaluate_policies
from judgebatch.policies.errors import PolicyAnswerError, PolicyDefinitionError, PolicyError
from judgebatch.policies.evaluation import evaluate_policy
from judgebatch.policies.grammar import parse_policy, parse_questions
from judgebatch.policies.questions import Choice, Noul, Question, Score
from judgebatch.policies.reports import PolicyReport, RuleReport
from judgebatch.policies.rules import ChoiceRule, NoulRule, Policy, Rule, ScoreRule

__all__ = [
    "Answer",
    "Choice",
    "ChoiceAnswer",
    "ChoiceRule",
    "Evaluation",
    "Noul",
    "NoulAnswer",
    "NoulRule",
    "Policy",
    "PolicyAnswerError",
    "PolicyDefinitionError",
    "PolicyError",
    "PolicyReport",
    "Question",
    "Rule",
    "RuleReport",
    "Score",
    "ScoreAnswer",
    "ScoreRule",
    "ValidatedPolicy",
    "evaluate_policies",
    "evaluate_policy",
    "parse_policy",
    "parse_questions",
    "validate_policy",
]
