"""The Python client under its former name; it is `bayou.client`."""

from bayou.client import RpcClient, RpcError

__all__ = ["RpcClient", "RpcError"]
