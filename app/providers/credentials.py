class CredentialError(Exception):
    pass


class Credentials:
    problems = ()

    def __init__(self, agent_dir, env):
        pass

    async def resolve(self, provider):
        return None

    def has(self, provider):
        return False

    def use_for_this_run(self, provider, key):
        pass
