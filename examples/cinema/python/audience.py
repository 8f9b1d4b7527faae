"""Recency, frequency and taste of each viewer, and the resulting segment.

A function sees one batch of rows, not all of them, so it cannot compare viewers with each other. Values over all viewers
(the newest view, the time spent on each genre) are part of each row, from the query.
"""

from decimal import ROUND_HALF_UP, Decimal
from fractions import Fraction

from vitrina import task

NEW_DAYS = 60
RECENT_DAYS, COOLING_DAYS = 30, 90
OFTEN, SOMETIMES = 4, 2  # views in the last 90 days
FAN_VIEWS = 20

LEAST_SHARE = Fraction(6, 100)  # a smaller share of a viewer's time is chance, not taste
LEAST_LIFT = Fraction(5, 4)

SEGMENTS = {
    ("recent", "often"): "devoted",
    ("recent", "sometimes"): "regular",
    ("recent", "rarely"): "casual",
    ("cooling", "often"): "at risk",
    ("cooling", "sometimes"): "at risk",
    ("cooling", "rarely"): "drifting",
}


@task(
    "audience_segments",
    adds={"recency": "text", "frequency": "text", "taste": "text", "taste_lift": "numeric(8,2)", "segment": "text"},
    drops=["genres", "usual_seconds"],
)
def audience_segments(rows):
    """Recency, frequency and taste of each viewer, and the resulting segment."""
    for row in rows:
        row["recency"] = recency(row["days_away"])
        row["frequency"] = frequency(row["recent_view_count"])
        row["taste"], row["taste_lift"] = taste(row.pop("genres"), row.pop("usual_seconds"))
        row["segment"] = segment(row)
    return rows


def recency(days_away):
    if days_away <= RECENT_DAYS:
        return "recent"
    return "cooling" if days_away <= COOLING_DAYS else "gone"


def frequency(recent_views):
    if recent_views >= OFTEN:
        return "often"
    return "sometimes" if recent_views >= SOMETIMES else "rarely"


def segment(row):
    if row["days_known"] <= NEW_DAYS:
        return "newcomer"
    if row["recency"] == "gone":
        return "lapsed fan" if row["view_count"] >= FAN_VIEWS else "lost"
    return SEGMENTS[row["recency"], row["frequency"]]


def taste(genres, usual_seconds):
    """The genre a viewer watches more than others do, and how many times more. `genres`: own seconds, all viewers'."""
    watched = sum(own for own, _ in (genres or {}).values())
    if watched == 0:
        return None, None
    shares = {name: Fraction(own, watched) for name, (own, _) in genres.items()}
    lifts = {
        name: shares[name] / Fraction(everybody, int(usual_seconds))
        for name, (_, everybody) in genres.items()
        if shares[name] >= LEAST_SHARE
    }
    # The name breaks ties, so that the result does not change from run to run.
    name = min(lifts, key=lambda one: (-lifts[one], -shares[one], one), default=None)
    if name is None or lifts[name] < LEAST_LIFT:
        return "a bit of everything", None
    return name, rounded(lifts[name])


def rounded(value):
    exact = Decimal(value.numerator) / Decimal(value.denominator)
    return exact.quantize(Decimal("0.01"), rounding=ROUND_HALF_UP)
