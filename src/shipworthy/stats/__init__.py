"""Statistics of a ship gate: intervals, exact proofs, sample sizes, paired and sequential tests, agreement.

rates        exact tails, a rate's interval and the test that proves it, sample sizes
means        a mean, rows that come in clusters, and bounds that hold for any values within known limits
quantiles    percentiles and the order statistics that bound them
paired       the same items before and after
sequential   many tests at once, e-values of pairs, and whether nightly numbers got worse
agreement    raters who say the same, sets that have much in common, and a score that separates

Decisions are taken on integers and fractions; floats are for showing. What is undefined is None.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .rates import ALPHA as ALPHA
from .rates import MOST_ITEMS as MOST_ITEMS
from .rates import Direction as Direction
from .rates import State as State
from .rates import clopper_pearson_lower as clopper_pearson_lower
from .rates import clopper_pearson_upper as clopper_pearson_upper
from .rates import critical_k as critical_k
from .rates import met as met
from .rates import more_items as more_items
from .rates import n_for_power as n_for_power
from .rates import power_at as power_at
from .rates import prove_p as prove_p
from .rates import proven as proven
from .rates import refute_p as refute_p
from .rates import refuted as refuted
from .rates import smallest_n as smallest_n
from .rates import verdict_state as verdict_state
from .rates import wilson as wilson

if TYPE_CHECKING:
    from .agreement import Weights as Weights
    from .agreement import auc as auc
    from .agreement import fleiss_kappa as fleiss_kappa
    from .agreement import free_marginal_kappa as free_marginal_kappa
    from .agreement import gwet_ac1 as gwet_ac1
    from .agreement import kappa as kappa
    from .agreement import kappa_interval as kappa_interval
    from .agreement import kappa_spread as kappa_spread
    from .agreement import krippendorff_alpha as krippendorff_alpha
    from .agreement import mean_jaccard as mean_jaccard
    from .agreement import raters_spread as raters_spread
    from .agreement import shares_spread as shares_spread
    from .means import Clustered as Clustered
    from .means import Spread as Spread
    from .means import cluster_se_of_counts as cluster_se_of_counts
    from .means import exact_sum as exact_sum
    from .means import mean_bounds as mean_bounds
    from .means import mean_interval_of_counts as mean_interval_of_counts
    from .means import mean_spread as mean_spread
    from .means import pooled_spread as pooled_spread
    from .means import ratio_spread as ratio_spread
    from .means import ratio_sum as ratio_sum
    from .paired import excludes_drop as excludes_drop
    from .paired import mcnemar_one_sided as mcnemar_one_sided
    from .paired import mcnemar_two_sided as mcnemar_two_sided
    from .paired import more_for_no_regression as more_for_no_regression
    from .paired import paired_permutation as paired_permutation
    from .paired import tango_upper as tango_upper
    from .quantiles import Ordered as Ordered
    from .quantiles import min_n_for_quantile as min_n_for_quantile
    from .quantiles import percentile as percentile
    from .quantiles import quantile_ranks as quantile_ranks
    from .quantiles import shortfall as shortfall
    from .quantiles import upper_rank as upper_rank
    from .sequential import ALARM as ALARM
    from .sequential import alarm as alarm
    from .sequential import drop_evidence as drop_evidence
    from .sequential import e_value as e_value
    from .sequential import e_value_rate as e_value_rate
    from .sequential import e_value_two_sided as e_value_two_sided
    from .sequential import holm as holm

# What a small score does not need is imported when it is first asked for.
_HOMES = {
    "agreement": "Weights auc fleiss_kappa free_marginal_kappa gwet_ac1 kappa kappa_interval kappa_spread "
    "krippendorff_alpha raters_spread shares_spread mean_jaccard",
    "means": "Clustered Spread cluster_se_of_counts exact_sum mean_bounds "
    "mean_interval_of_counts mean_spread pooled_spread ratio_spread ratio_sum",
    "paired": "excludes_drop mcnemar_one_sided mcnemar_two_sided more_for_no_regression paired_permutation tango_upper",
    "quantiles": "Ordered min_n_for_quantile percentile quantile_ranks shortfall upper_rank",
    "sequential": "ALARM alarm drop_evidence e_value e_value_rate e_value_two_sided holm",
}


def __getattr__(name: str) -> object:
    for home, names in _HOMES.items():
        if name in names.split():
            from importlib import import_module

            return getattr(import_module(f".{home}", __name__), name)
    raise AttributeError(f"module 'shipworthy.stats' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*globals(), *(name for names in _HOMES.values() for name in names.split())]
