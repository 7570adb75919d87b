"""The mask generation network: what it sees, what it computes in INT8, what it is to learn."""

from .features import (
    FEATURE_SCALE,
    FEATURES,
    activation_features,
    at_bound,
    features,
    gradient_feature,
)
from .histogram import Histogram, base_of, histogram_at
from .layers import MaskLayers, keep_tables, logits
from .losses import Losses, Slopes, losses_of, slopes
from .sampling import Sampled, sample_of, sampled

__all__ = [
    "FEATURES",
    "FEATURE_SCALE",
    "Histogram",
    "Losses",
    "MaskLayers",
    "Sampled",
    "Slopes",
    "activation_features",
    "at_bound",
    "base_of",
    "features",
    "gradient_feature",
    "histogram_at",
    "keep_tables",
    "logits",
    "losses_of",
    "sample_of",
    "sampled",
    "slopes",
]
