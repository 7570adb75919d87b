"""``region_manager``: the region table, and the decisions on it."""

import enum

from amaranth.hdl import signed, unsigned
from amaranth.lib import data

from adagrain.models.interface.policies import CadencePolicy, SpeculationPolicy, SpeculationState

from .operation import Operation, Payload
from .ranges import First, Range
from .register import Register
from .table import Table
from .unit import Unit

__all__ = [
    "MAX_WORKERS",
    "REGION_MANAGER",
    "WORD",
    "WORDS_PER_REGION",
    "CadencePolicy",
    "Decision",
    "DecisionStatus",
    "RegionOpcode",
    "RegionParameters",
    "RegionRecord",
    "RegionStep",
    "RegionUpdate",
    "SpeculationPolicy",
    "SpeculationState",
]

#: Largest world size that the arithmetic holds.
MAX_WORKERS = 1024


class DecisionStatus(enum.IntEnum):
    """Reason why a region's update was refused; its record is then untouched."""

    OK = 0
    BAD_REGION = 1  #: number at or above the table's size
    NOT_CONFIGURED = 2  #: record without its valid bit
    BAD_ENERGY = 3  #: an energy of 2**56 or more


#: One region's state: eight 64-bit words of the region table.
RegionRecord = data.StructLayout(
    {
        # word 0: what the region is, and its small state
        "valid": unsigned(1),
        "policy": unsigned(3),
        "cadence_policy": unsigned(2),
        "state": unsigned(2),
        "confidence": unsigned(3),  # accept counter c, 0…7
        "streak": unsigned(2),  # decision epochs in a row with α ≥ T1
        "measured": unsigned(3),  # updates in α and the averages of N; saturates
        "gain": unsigned(5),  # h, 0…16 sixteenths
        "cadence": unsigned(4),  # log2 of the steps per update
        "cadence_min": unsigned(4),
        "cadence_max": unsigned(4),
        "cadence_dwell": unsigned(3),  # decision epochs before the cadence may change again
        "exponent": unsigned(8),  # shared exponent of the sums, biased by 127
        "alpha": unsigned(20),  # α: EMA of min(1, N·W/A), shift 4, Q0.16 with 4 more fraction bits
        # word 1
        "percentage": unsigned(16),  # p, Q0.16
        "samples": unsigned(16),  # updates in the sums; saturates
        "dwell": unsigned(8),  # decision epochs before the state may change again
        "dwell_length": unsigned(8),  # dwell after the next change; doubles on a demotion
        "phase_epoch": unsigned(16),
        # words 2…7
        "stall": unsigned(64),  # EMA of σ in µs, 4 fraction bits
        "redo": unsigned(64),  # EMA of κ in µs, 4 fraction bits
        "n_fast": unsigned(64),  # EMA of lg N, shift 3, octaves with 10 and 3 fraction bits
        "n_slow": unsigned(64),  # EMA of lg N, shift 6, octaves with 10 and 6 fraction bits
        "a_sum": unsigned(64),  # Σ A since the cadence last changed or was compared
        "n_sum": unsigned(64),  # Σ N, likewise
    }
)

#: What holds for all regions: thresholds, the world size, and the run's loss averages.
RegionParameters = data.StructLayout(
    {
        "workers": unsigned(16),
        "epoch": unsigned(16),  # decision epochs so far; saturates
        "t0": unsigned(16),  # α thresholds of ``cost_aware``, Q0.16
        "t1": unsigned(16),
        "t2": unsigned(16),
        "rate": unsigned(16),  # threshold of the loss rate, octaves, Q6.10 (``seed_literal``)
        "variance": unsigned(16),  # variance thresholds over N, Q8.8 (``seed_literal``)
        "medium_variance": unsigned(16),
        "divergence": unsigned(16),  # 1−α threshold, Q0.16 (``seed_literal``)
        "noise": unsigned(16),  # T of the noise cadence: noise-to-signal of an update, Q8.8
        "guard": unsigned(16),  # rise of the loss that halves cadences, octaves, Q6.10; 0: none
        "noise_samples": unsigned(8),  # fewest updates in the sums before they are compared
        "dwell": unsigned(8),  # first dwell of a state change, in decision epochs
        "loss_fast": unsigned(32),  # EMA of lg loss, shift 3, octaves with 10 and 3 fraction bits
        "loss_slow": unsigned(32),  # EMA of lg loss, shift 6, octaves with 10 and 6 fraction bits
        "loss_valid": unsigned(1),
        "_reserved": unsigned(31),
    }
)

#: Head of a STEP request; ``RegionUpdate`` records follow.
RegionStep = data.StructLayout(
    {
        "loss": unsigned(32),  # mean over the workers, Q16.16
        "loss_valid": unsigned(1),
        "epoch_end": unsigned(1),  # this step closes a decision epoch: count it once
        "_reserved": unsigned(30),
    }
)

#: What one due region brings to a step.
RegionUpdate = data.StructLayout(
    {
        "region": unsigned(16),
        "exponent": unsigned(8),  # E of both energies, biased by 127
        "usable": unsigned(1),  # energies are of finite, unsaturated tensors
        "decide": unsigned(1),  # state and cadence may change now
        "_reserved": unsigned(6),
        "a": unsigned(64),  # A = Σ_k S2(g_k), below 2**56
        "n": unsigned(64),  # N = S2(ḡ), below 2**56
        "stall": unsigned(32),  # σ in µs, all-reduced
        "redo": unsigned(32),  # κ in µs, all-reduced
        "accepts": unsigned(16),
        "trials": unsigned(16),
    }
)

#: What the Region Manager answers for it.
Decision = data.StructLayout(
    {
        "region": unsigned(16),
        "status": unsigned(8),
        "state": unsigned(2),
        "confidence": unsigned(3),
        "changed": unsigned(1),  # state or cadence changed in this step
        "alpha_held": unsigned(1),  # A was 0, or not usable: α is that of before
        "guarded": unsigned(1),  # the loss guard halved the cadence
        "alpha": unsigned(16),
        "percentage": unsigned(16),
        "gain": unsigned(8),
        "cadence": unsigned(8),  # log2
        "dwell": unsigned(8),
        "_reserved": unsigned(8),
        "rate": signed(16),  # n_slow − n_fast, octaves, Q5.10, saturated
        "loss_rate": signed(16),  # loss_slow − loss_fast, likewise
    }
)

#: Bytes of a word of the table, and words of a record.
WORD = 8
WORDS_PER_REGION = RegionRecord.size // 8 // WORD


class RegionOpcode(enum.IntEnum):
    """Operations of ``region_manager``."""

    WRITE = 0x20
    READ = 0x21
    PARAMETERS = 0x22
    STATE = 0x23
    STEP = 0x24


REGION_MANAGER = Unit(
    name="region_manager",
    group=2,
    about="the region table: averages, speculation states and cadences",
    operations=(
        Operation(
            RegionOpcode.WRITE,
            Payload(First, unsigned(8 * WORD), least=1),
            Payload(),
            "writes words of the table, eight a region in the order of `RegionRecord`",
        ),
        Operation(
            RegionOpcode.READ,
            Payload(Range),
            Payload(items=unsigned(8 * WORD), least=1),
            "reads words of the table",
        ),
        Operation(
            RegionOpcode.PARAMETERS,
            Payload(RegionParameters),
            Payload(),
            "sets what holds for all regions",
        ),
        Operation(
            RegionOpcode.STATE, Payload(), Payload(RegionParameters), "reads what holds for all"
        ),
        Operation(
            RegionOpcode.STEP,
            Payload(RegionStep, RegionUpdate),
            Payload(items=Decision),
            "takes one step's energies, and decides on each of its regions",
        ),
    ),
    registers=(
        Register("regions", "records in the region table", constant=lambda c: c.regions),
        Register("decisions", "records decided, modulo 2^32"),
        Register("decision_cycles", "most cycles that one decision took since reset", clocked=True),
    ),
    records={
        "RegionRecord": RegionRecord,
        "RegionParameters": RegionParameters,
        "RegionStep": RegionStep,
        "RegionUpdate": RegionUpdate,
        "Decision": Decision,
    },
    enums=(SpeculationPolicy, CadencePolicy, SpeculationState, DecisionStatus),
    table=Table(
        record=RegionRecord,
        number="region",
        entries=lambda c: c.regions,
        write=RegionOpcode.WRITE,
        read=RegionOpcode.READ,
        step=RegionOpcode.STEP,
        settings=RegionOpcode.PARAMETERS,
        optional=True,
        model="adagrain.models.region_manager.table:RegionTable",
    ),
    gateware="adagrain.hdl.region_manager.commands:RegionCommands",
    twin="adagrain.models.region_manager.commands:RegionCommands",
)
