%% Counts things.
-module(counter).
-behaviour(gen_server).
-export([start/0, add/2]).
-include("counter.hrl").

-define(LIMIT, 10).
-define(MAX(A, B), erlang:max(A, B)).
-record(state, {count = 0 :: integer(), names = []}).
-type name() :: atom().
-opaque token() :: binary().

-spec start() -> {ok, pid()}.
start() ->
    spawn(fun() -> loop(0) end).

%% Adds some.
add(Pid, 0) ->
    Pid;
add(Pid, N) when N > 0 ->
    Pid ! {add, N}.

add(Pid, N, _Opts) -> add(Pid, N).

loop(N) ->
    receive
        {add, M} -> loop(N + M)
    end.
