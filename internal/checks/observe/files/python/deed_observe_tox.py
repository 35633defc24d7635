"""tox: what it starts gets the variables that observe runners, which it would keep back."""

PASSED = ["PYTHONPATH", "NODE_OPTIONS", "PHP_INI_SCAN_DIR"]


def let_in(api_module):
    default = api_module.ToxEnv._default_pass_env

    def with_ours(self):
        return default(self) + PASSED

    api_module.ToxEnv._default_pass_env = with_ours
