"""The settings of judgebatch: one TOML file, overridden by the environment."""

from judgebatch.settings.loading import load_settings, stored_settings
from judgebatch.settings.model import Settings, TenantSettings

__all__ = ["Settings", "TenantSettings", "load_settings", "stored_settings"]
