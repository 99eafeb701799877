//! Which vector instructions the processor has. The portable build assumes none beyond the target's
//! own; kernels are compiled several times from one source, and the best is chosen when the program
//! runs. All give the same bits.

/// What a processor can do, as far as counting cares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Processor {
    /// What every processor of the target can.
    Portable,
    /// Counts the bits of a word in one instruction.
    #[cfg(target_arch = "x86_64")]
    Popcnt,
    /// That, and registers of 32 bytes.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// That, and registers of 64 bytes whose bits are counted in one instruction.
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

impl Processor {
    /// Looks at the processor that the program runs on.
    pub(super) fn detect() -> Self {
        #[cfg(target_arch = "x86_64")]
        {
            use std::arch::is_x86_feature_detected as has;
            if has!("popcnt") {
                return match (has!("avx2"), has!("avx512vpopcntdq")) {
                    (true, true) if has!("avx512f") && has!("avx512bw") && has!("avx512vl") => {
                        Self::Avx512
                    }
                    (true, _) => Self::Avx2,
                    _ => Self::Popcnt,
                };
            }
        }
        Self::Portable
    }

    /// Returns how long the bits that two words have in common take to be counted, in tenths of a
    /// nanosecond.
    pub(super) fn word_cost(self) -> usize {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => 1,
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 | Self::Popcnt => 2,
            Self::Portable => 8,
        }
    }

    /// Returns all that this processor can do, the best last.
    #[cfg(test)]
    pub(super) fn possible() -> Vec<Self> {
        let all = [
            Self::Portable,
            #[cfg(target_arch = "x86_64")]
            Self::Popcnt,
            #[cfg(target_arch = "x86_64")]
            Self::Avx2,
            #[cfg(target_arch = "x86_64")]
            Self::Avx512,
        ];
        let best = Self::detect();
        let last = all.iter().position(|&kind| kind == best).unwrap_or(0);
        all[..=last].to_vec()
    }
}
