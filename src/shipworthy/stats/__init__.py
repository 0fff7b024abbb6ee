"""Statistics of a ship gate: intervals, exact proofs, sample sizes, paired and sequential tests, agreement.

binomial     exact tails, on which every proof rests
proportions  a rate: interval to show, test that proves, state of the gate
samples      how many items a proof needs
means        a mean, and rows that come in clusters
bounded      what proves a mean: bounds that hold for any values within known limits
quantiles    percentiles and the order statistics that bound them
paired       the same items before and after
sequential   many tests at once, and e-values of pairs
nights       whether numbers that come night after night got worse
agreement    raters who say the same, and a score that separates
overlap      how much sets have in common

Decisions are taken on integers and fractions; floats are for showing. What is undefined is None.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .binomial import ALPHA, critical_k
from .proportions import (
    Direction,
    State,
    clopper_pearson_lower,
    clopper_pearson_upper,
    met,
    prove_p,
    proven,
    refute_p,
    refuted,
    verdict_state,
    wilson,
)
from .samples import MOST_ITEMS, more_items, n_for_power, power_at, smallest_n

if TYPE_CHECKING:
    from .agreement import (
        Weights,
        auc,
        fleiss_kappa,
        free_marginal_kappa,
        gwet_ac1,
        kappa,
        kappa_interval,
        kappa_spread,
        krippendorff_alpha,
        raters_spread,
        shares_spread,
    )
    from .bounded import Spread, mean_bounds, mean_spread, pooled_spread, ratio_spread
    from .means import (
        Clustered,
        cluster_se,
        cluster_se_of_counts,
        exact_sum,
        mean_interval,
        mean_interval_of_counts,
        ratio_sum,
    )
    from .nights import drop_evidence
    from .overlap import mean_jaccard
    from .paired import (
        excludes_drop,
        mcnemar_one_sided,
        mcnemar_two_sided,
        more_for_no_regression,
        paired_permutation,
        tango_upper,
    )
    from .quantiles import (
        Ordered,
        min_n_for_quantile,
        percentile,
        percentile_of_counts,
        quantile_ranks,
        shortfall,
        upper_rank,
    )
    from .sequential import ALARM, alarm, e_value, e_value_rate, e_value_two_sided, holm

__all__ = [
    "ALARM",
    "ALPHA",
    "MOST_ITEMS",
    "Clustered",
    "Direction",
    "Ordered",
    "Spread",
    "State",
    "Weights",
    "alarm",
    "auc",
    "clopper_pearson_lower",
    "clopper_pearson_upper",
    "cluster_se",
    "cluster_se_of_counts",
    "critical_k",
    "drop_evidence",
    "e_value",
    "e_value_rate",
    "e_value_two_sided",
    "exact_sum",
    "excludes_drop",
    "fleiss_kappa",
    "free_marginal_kappa",
    "gwet_ac1",
    "holm",
    "kappa",
    "kappa_interval",
    "kappa_spread",
    "krippendorff_alpha",
    "mcnemar_one_sided",
    "mcnemar_two_sided",
    "mean_bounds",
    "mean_interval",
    "mean_interval_of_counts",
    "mean_jaccard",
    "mean_spread",
    "met",
    "min_n_for_quantile",
    "more_for_no_regression",
    "more_items",
    "n_for_power",
    "paired_permutation",
    "percentile",
    "percentile_of_counts",
    "pooled_spread",
    "power_at",
    "prove_p",
    "proven",
    "quantile_ranks",
    "raters_spread",
    "ratio_spread",
    "ratio_sum",
    "refute_p",
    "refuted",
    "shares_spread",
    "shortfall",
    "smallest_n",
    "tango_upper",
    "upper_rank",
    "verdict_state",
    "wilson",
]

# What a small score does not need is imported when it is first asked for.
_HOMES = {
    "agreement": (
        "Weights",
        "auc",
        "fleiss_kappa",
        "free_marginal_kappa",
        "gwet_ac1",
        "kappa",
        "kappa_interval",
        "kappa_spread",
        "krippendorff_alpha",
        "raters_spread",
        "shares_spread",
    ),
    "bounded": ("Spread", "mean_bounds", "mean_spread", "pooled_spread", "ratio_spread"),
    "means": (
        "Clustered",
        "cluster_se",
        "cluster_se_of_counts",
        "exact_sum",
        "mean_interval",
        "mean_interval_of_counts",
        "ratio_sum",
    ),
    "nights": ("drop_evidence",),
    "overlap": ("mean_jaccard",),
    "paired": (
        "excludes_drop",
        "mcnemar_one_sided",
        "mcnemar_two_sided",
        "more_for_no_regression",
        "paired_permutation",
        "tango_upper",
    ),
    "quantiles": (
        "Ordered",
        "min_n_for_quantile",
        "percentile",
        "percentile_of_counts",
        "quantile_ranks",
        "shortfall",
        "upper_rank",
    ),
    "sequential": ("ALARM", "alarm", "e_value", "e_value_rate", "e_value_two_sided", "holm"),
}


def __getattr__(name: str) -> object:
    for home, names in _HOMES.items():
        if name in names:
            from importlib import import_module

            return getattr(import_module(f".{home}", __name__), name)
    raise AttributeError(f"module 'shipworthy.stats' has no attribute {name!r}")
