"""`offline/guide`: a deterministic agent behind the same contract as all models. It is not a language model.

bayou starts with it when there are no credentials. It understands eight requests (`guide_requests`), calls the real
tools, describes their results and plays a recorded tour. `answers` decides the answer; this module streams
it."""

import os
import random
from typing import Final

import msgspec

from app.providers.model_stream import AssistantStream, RequestContext, StreamOptions
from app.providers.offline.answers import offline_guide_answer
from app.providers.stream.paced_sender import (
    CHARACTERS_PER_TOKEN,
    PacedBlockSender,
    add_output_tokens,
    random_piece_lengths,
)
from app.values.codec import encode
from app.values.content import ESTIMATED_IMAGE_CHARACTERS, Image, ToolCall
from app.values.messages import ToolResultMessage, UserMessage
from app.values.models import Model
from app.values.usage import Usage

READABLE_TOKENS_PER_SECOND: Final = 150.0
"""The number of tokens sent per second when a person reads along (`StreamOptions.is_person_reading`); programs get
the answer at once."""
OFFLINE_PACE_VARIABLE: Final = "BAYOU_OFFLINE_PACE"
"""The environment variable that sets the tokens sent per second; 0 means no limit."""


async def stream_response(
    model: Model, context: RequestContext, options: StreamOptions, stream: AssistantStream
) -> None:
    if options.hooks.on_response_headers is not None:
        await options.hooks.on_response_headers(200, {})
    reply = offline_guide_answer(context)
    stream.draft.usage = estimate_prompt_usage(context)
    sender = PacedBlockSender(
        stream,
        next_piece_length=random_piece_lengths(random.Random(0), 2, 14),
        tokens_per_second=offline_tokens_per_second(model, options),
    )
    for number, block in enumerate(reply.blocks, 1):
        if isinstance(block, ToolCall):
            block = msgspec.structs.replace(block, id=f"call_{stream.partial_message.id}_{number}")
        await sender.send_block(block)
    stream.draft.usage = add_output_tokens(stream.draft.usage, stream.draft.content)


def offline_tokens_per_second(model: Model, options: StreamOptions) -> float:
    """Returns the tokens to send per second, 0 for no limit: from the model, else the environment, else a default
    that depends on who reads."""
    usual = READABLE_TOKENS_PER_SECOND if options.is_person_reading else 0.0
    chosen = (model.compat or {}).get("tokensPerSecond", os.environ.get(OFFLINE_PACE_VARIABLE))
    try:
        return usual if chosen is None else max(0.0, float(chosen))
    except (TypeError, ValueError):
        return usual


def estimate_prompt_usage(context: RequestContext) -> Usage:
    length = len(context.system_prompt) + sum(
        len(encode(value)) for value in (*context.tools, *context.messages)
    )
    for message in context.messages:
        content = message.content if isinstance(message, UserMessage | ToolResultMessage) else ()
        images = [part for part in content if isinstance(part, Image)]
        length += len(images) * ESTIMATED_IMAGE_CHARACTERS - sum(len(image.data) for image in images)
    return Usage(input=length // CHARACTERS_PER_TOKEN, total_tokens=length // CHARACTERS_PER_TOKEN)
