"""Test pairs of samples: signed ranks, interim looks, verdicts."""
