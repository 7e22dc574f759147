"""Which policies a run holds episodes against: read from files before anything else is."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from judgebatch.errors import SettingsError
from judgebatch.policies import ValidatedPolicy
from judgebatch.policies.assignment import PolicyChoice
from judgebatch.policies.documents import read_policy, read_questions
from judgebatch.settings import Settings

QUESTIONS = "questions"


@dataclass(frozen=True)
class PolicyPlan:
    """The policies of a run and which episodes have them; picklable."""

    policies: Mapping[str, ValidatedPolicy] = field(default_factory=dict)
    choice: PolicyChoice = field(default_factory=PolicyChoice)
    texts: Mapping[str, str] = field(default_factory=dict)
    """The files' texts by name, ``questions`` among them, as the warehouse keeps them."""


def read_plan(settings: Settings) -> PolicyPlan:
    """Read every policy that the settings name.

    Raises
    ------
    SettingsError
        A file is missing or wrong, or names a question that isn't there; names the place.
    """
    names = settings.policy_names()
    if not names:
        return PolicyPlan()
    folder = settings.policies_folder
    texts = {QUESTIONS: read_text(folder / f"{QUESTIONS}.json")}
    questions = read_questions(texts[QUESTIONS], file=str(folder / f"{QUESTIONS}.json"))
    texts |= {name: read_text(folder / f"{name}.json") for name in names}
    policies = {
        name: read_policy(texts[name], questions, file=str(folder / f"{name}.json"))
        for name in names
    }
    return PolicyPlan(policies, _choice(settings), texts)


def read_text(path: Path) -> str:
    """Return the text of a policy or question file.

    Raises
    ------
    SettingsError
        It cannot be read, or is not UTF-8.
    """
    try:
        return path.read_bytes().decode()
    except UnicodeDecodeError as error:
        raise SettingsError(
            f"{path} is not UTF-8 text: byte {error.start} is wrong. Save it as UTF-8."
        ) from error
    except OSError as error:
        raise SettingsError(f"{path} cannot be read: {error.strerror}. Check the path.") from error


def _choice(settings: Settings) -> PolicyChoice:
    tenants = settings.tenants
    return PolicyChoice(
        default=settings.defaults.policies,
        by_tenant={tenant_id: tenant.policies for tenant_id, tenant in tenants.items()},
        by_task={
            (tenant_id, task_id): names
            for tenant_id, tenant in tenants.items()
            for task_id, names in tenant.task_policies.items()
        },
    )
