import msgspec
import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from making import SEGMENT, episode

from journeyman.codec import encode
from journeyman.episode import Segment
from journeyman.train.tokens import pack, token_decoder, unpack


@st.composite
def segments(draw: st.DrawFn) -> Segment:
    mask = draw(st.lists(st.integers(0, 1), max_size=30))
    wide = draw(st.booleans())
    logprob = st.floats(-50, 0) if wide else st.floats(-50, 0, width=32)
    return Segment(
        [draw(st.integers(0, 150_000)) for _ in mask],
        mask,
        [draw(logprob) if sampled else 0.0 for sampled in mask],
        [draw(st.integers(0, 9)) if sampled else 0 for sampled in mask],
        draw(st.sampled_from([1.0, 0.6])),
    )


@given(st.lists(segments(), max_size=3))
def test_segments_come_back_bit_for_bit(made: list[Segment]) -> None:
    line = encode(pack(episode(segments=made)))
    assert unpack(token_decoder.decode(line)) == made


def test_layout_on_disk() -> None:
    packed = pack(episode()).segments[0]
    assert packed.mask == [(0, 1), (1, 2), (0, 1)]
    assert packed.versions == [(3, 2)]
    assert packed.ids.startswith("<u4:")  # 70,000 does not fit 16 bits
    assert packed.logprobs == "<f4:AAAAvwAAoL8="  # -0.5 and -1.25, little-endian
    narrow = msgspec.structs.replace(SEGMENT, token_ids=[5, 6, 7, 8])
    assert pack(episode(segments=[narrow])).segments[0].ids == "<u2:BQAGAAcACAA="


def test_a_logprob_that_is_no_float32_is_kept_whole() -> None:
    precise = msgspec.structs.replace(SEGMENT, logprobs=[0.0, -0.1, -1.25, 0.0])
    assert np.float64(np.float32(-0.1)) != -0.1
    packed = pack(episode(segments=[precise]))
    assert packed.segments[0].logprobs.startswith("<f8:")
    assert unpack(packed)[0].logprobs == [0.0, -0.1, -1.25, 0.0]
