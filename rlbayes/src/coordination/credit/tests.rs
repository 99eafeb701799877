//! Laws of what is claimed and what counts.

use super::*;
use proptest::prelude::*;

proptest! {
    #[test]
    fn one_peer_cannot_choose_what_it_is_compared_with(paces in prop::collection::vec(0..9u64, 0..8)) {
        let mut shown: Vec<(u64, PeerId)> = paces.into_iter().zip((1..).map(PeerId)).collect();
        shown.sort_unstable();
        for own in [None].into_iter().chain(shown.iter().copied().map(Some)) {
            let others = shown.iter().filter(|&&one| Some(one) != own);
            let others: Vec<u64> = others.map(|&(pace, _)| pace).collect();
            let expected = others.get(others.len().saturating_sub(1) / 2).copied();
            prop_assert_eq!(median_of_others(&shown, own), expected);
        }
    }

    #[test]
    fn everything_is_credited_once_and_no_faster_than_it_can_be_done(
        claims in prop::collection::vec((0..3u32, 0..1u64 << 31, 0..3000u64), 1..40),
    ) {
        let (peer, threads) = (PeerId(7), BTreeMap::from([(PeerId(7), 1)]));
        let mut credits = Credits::default();
        let (mut now, mut claimed, mut credited) = (Duration::ZERO, 0, 0);
        for (chain, evaluations, millis) in claims {
            let added = ChainCounters { evaluations, ..Default::default() };
            claimed += evaluations;
            credited += credits.claim(now, peer, ChainId(chain), added).evaluations;
            now += Duration::from_millis(millis);
            let paid = credits.pass(now, &threads);
            credited += paid.iter().map(|(.., counters)| counters.evaluations).sum::<u64>();
            prop_assert!(credited <= in_time(OF_A_THREAD[1], now + Duration::from_secs(1)));
            let waiting = credits.waiting();
            let waiting: u64 = waiting.values().map(|counters| counters.evaluations).sum();
            prop_assert_eq!(credited + waiting, claimed);
        }
        now += Duration::from_secs(1000);
        let mut last = 0;
        for second in 0..400 {
            let paid = credits.pass(now + Duration::from_secs(second), &threads);
            last += paid.iter().map(|(.., counters)| counters.evaluations).sum::<u64>();
        }
        prop_assert_eq!(credited + last, claimed);
        prop_assert!(credits.waiting().is_empty());
    }
}
