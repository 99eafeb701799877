//! A table of numbers over the states of a few variables: what variable elimination multiplies and
//! sums.

use crate::ids::NodeIdx;

/// Numbers for every configuration of some variables. Variables are in order, the last one runs
/// fastest.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Factor {
    pub(super) variables: Vec<NodeIdx>,
    arities: Vec<usize>,
    pub(super) values: Vec<f64>,
}

impl Factor {
    /// Takes numbers over variables in order.
    pub(super) fn new(variables: Vec<NodeIdx>, arities: Vec<usize>, values: Vec<f64>) -> Self {
        debug_assert_eq!(arities.iter().product::<usize>(), values.len());
        debug_assert!(variables.is_sorted());
        Self {
            variables,
            arities,
            values,
        }
    }

    /// Takes numbers over variables in any order.
    pub(super) fn sorted(variables: &[NodeIdx], arities: &[usize], values: &[f64]) -> Self {
        let mut order: Vec<usize> = (0..variables.len()).collect();
        order.sort_by_key(|&at| variables[at]);
        let strides = strides(arities);
        let new_arities: Vec<usize> = order.iter().map(|&at| arities[at]).collect();
        let new_strides: Vec<usize> = order.iter().map(|&at| strides[at]).collect();
        let mut reordered = Vec::with_capacity(values.len());
        walk(&new_arities, [&new_strides], |[at]| {
            reordered.push(values[at])
        });
        let variables = order.iter().map(|&at| variables[at]).collect();
        Self::new(variables, new_arities, reordered)
    }

    /// Keeps the numbers of one state of a variable.
    pub(super) fn given(&self, variable: NodeIdx, state: usize) -> Self {
        let Ok(position) = self.variables.binary_search(&variable) else {
            return self.clone();
        };
        let strides = strides(&self.arities);
        let (variables, arities) = self.without(position);
        let mut rest = strides.clone();
        rest.remove(position);
        let mut values = Vec::with_capacity(self.values.len() / self.arities[position]);
        let first = state * strides[position];
        walk(&arities, [&rest], |[at]| {
            values.push(self.values[first + at])
        });
        Self::new(variables, arities, values)
    }

    /// Returns the product with another factor, summed over `variable`, which both or one may have.
    /// The product itself is never held.
    pub(super) fn product_without(factors: &[Self], variable: NodeIdx, arity: usize) -> Self {
        let mut scope: Vec<(NodeIdx, usize)> = Vec::new();
        for factor in factors {
            for (&other, &states) in factor.variables.iter().zip(&factor.arities) {
                if other != variable {
                    scope.push((other, states));
                }
            }
        }
        scope.sort_unstable();
        scope.dedup();
        let (variables, arities): (Vec<NodeIdx>, Vec<usize>) = scope.into_iter().unzip();
        let mut values = vec![0.0; arities.iter().product()];
        for state in 0..arity {
            let parts: Vec<Self> = factors
                .iter()
                .map(|part| part.given(variable, state))
                .collect();
            let mut product = vec![1.0; values.len()];
            for part in &parts {
                let own = strides(&part.arities);
                let stride_of = |other: &NodeIdx| {
                    let position = part.variables.binary_search(other);
                    position.map_or(0, |position| own[position])
                };
                let steps: Vec<usize> = variables.iter().map(stride_of).collect();
                let mut cell = 0;
                walk(&arities, [&steps], |[at]| {
                    product[cell] *= part.values[at];
                    cell += 1;
                });
            }
            for (sum, number) in values.iter_mut().zip(&product) {
                *sum += number;
            }
        }
        Self::new(variables, arities, values)
    }

    /// Divides by the largest number and returns its logarithm; nothing if all are 0.
    pub(super) fn rescale(&mut self) -> Option<f64> {
        let largest = self.values.iter().copied().fold(0.0, f64::max);
        if largest <= 0.0 {
            return None;
        }
        for value in &mut self.values {
            *value /= largest;
        }
        Some(largest.ln())
    }

    fn without(&self, position: usize) -> (Vec<NodeIdx>, Vec<usize>) {
        let (mut variables, mut arities) = (self.variables.clone(), self.arities.clone());
        variables.remove(position);
        arities.remove(position);
        (variables, arities)
    }
}

/// Returns how far apart neighbouring states of each variable are.
fn strides(arities: &[usize]) -> Vec<usize> {
    let mut strides = vec![1; arities.len()];
    for position in (1..arities.len()).rev() {
        strides[position - 1] = strides[position] * arities[position];
    }
    strides
}

/// Visits all configurations in order, the last variable fastest, with the places that they have
/// under each list of strides.
fn walk<const LISTS: usize>(
    arities: &[usize],
    strides: [&[usize]; LISTS],
    mut visit: impl FnMut([usize; LISTS]),
) {
    let cells: usize = arities.iter().product();
    let mut states = vec![0; arities.len()];
    let mut places = [0; LISTS];
    for _ in 0..cells {
        visit(places);
        for position in (0..arities.len()).rev() {
            states[position] += 1;
            let done = states[position] == arities[position];
            for (place, strides) in places.iter_mut().zip(strides) {
                match done {
                    false => *place += strides[position],
                    true => *place -= strides[position] * (arities[position] - 1),
                }
            }
            if !done {
                break;
            }
            states[position] = 0;
        }
    }
}
