//! Adding numbers without losing any of them.
//!
//! Integers are added as integers. Doubles are added in fixed point, with a bit for every
//! power of two that a double can have, and rounded once at the end. So the total does
//! not depend on the order, nor on how the numbers were divided among threads or
//! machines, and nothing on the way to a total that fits can overflow. Doubles of common
//! sizes are added in a fixed point of 128 bits, which is as exact where they fit.

/// A total of any numbers.
#[derive(Clone, Debug, Default)]
pub struct Sum {
    /// 2^64 integers would have to come before this overflows.
    integers: i128,
    /// The total of common doubles, counted in units of 2^-[`COMMON_SCALE`].
    common: i128,
    /// Whether a double came.
    has_doubles: bool,
    /// The total of all other doubles, once one came.
    others: Option<Box<FixedPoint>>,
}

/// The negated power of two that is the unit of common doubles.
const COMMON_SCALE: u32 = 80;

/// A common double is below 2^46, so 2^46 of them stay within 127 bits.
const MAX_COMMON_SHIFT: u32 = 73;

impl Sum {
    /// The sum of no numbers.
    pub fn new() -> Self {
        Self::default()
    }

    /// Add an integer.
    pub fn add_integer(&mut self, value: i64) {
        self.integers += i128::from(value);
    }

    /// Add an integer with the other sign.
    pub fn subtract_integer(&mut self, value: i64) {
        self.integers -= i128::from(value);
    }

    /// Add a double; it must be finite.
    pub fn add_double(&mut self, value: f64) {
        debug_assert!(value.is_finite());
        self.has_doubles = true;
        let (magnitude, shift) = parts(value);
        if magnitude == 0 {
            return;
        }
        if let Some(shift) = (shift + COMMON_SCALE).checked_sub(ONE)
            && shift <= MAX_COMMON_SHIFT
        {
            let units = i128::from(magnitude) << shift;
            let units = if value.is_sign_negative() { -units } else { units };
            if let Some(total) = self.common.checked_add(units) {
                self.common = total;
                return;
            }
        }
        let others = self.others.get_or_insert_default();
        others.add_scaled(u128::from(magnitude), shift, value.is_sign_negative());
    }

    /// Add all that was added to `other`.
    pub fn merge(&mut self, other: &Self) {
        self.integers += other.integers;
        self.has_doubles |= other.has_doubles;
        match self.common.checked_add(other.common) {
            Some(total) => self.common = total,
            None => self.others.get_or_insert_default().add_common(other.common),
        }
        if let Some(others) = &other.others {
            self.others.get_or_insert_default().merge(others);
        }
    }

    /// How much memory it takes.
    pub fn bytes(&self) -> u64 {
        let others = self.others.as_ref().map_or(0, |_| size_of::<FixedPoint>());
        (size_of::<Self>() + others) as u64
    }

    /// All that was added, for [`Self::from_bytes`].
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = self.integers.to_le_bytes().to_vec();
        if self.has_doubles {
            bytes.extend_from_slice(&self.common.to_le_bytes());
        }
        if let Some(others) = &self.others {
            let mut others = others.clone();
            others.carry();
            bytes.extend(others.limbs.iter().flat_map(|limb| limb.to_le_bytes()));
        }
        bytes
    }

    /// What was added to the sum that gave these bytes; None if none did.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (integers, rest) = bytes.split_first_chunk()?;
        let mut sum = Self { integers: i128::from_le_bytes(*integers), ..Self::default() };
        if rest.is_empty() {
            return Some(sum);
        }
        let (common, limbs) = rest.split_first_chunk()?;
        sum.common = i128::from_le_bytes(*common);
        sum.has_doubles = true;
        if limbs.is_empty() {
            return Some(sum);
        }
        if limbs.len() != LIMBS * size_of::<i64>() {
            return None;
        }
        let mut others = Box::<FixedPoint>::default();
        for (limb, bytes) in others.limbs.iter_mut().zip(limbs.chunks_exact(size_of::<i64>())) {
            *limb = i64::from_le_bytes(bytes.try_into().ok()?);
        }
        sum.others = Some(others);
        Some(sum)
    }

    /// The total, if only integers came and it is one that fits.
    pub fn integer(&self) -> Option<i64> {
        if self.has_doubles { None } else { i64::try_from(self.integers).ok() }
    }

    /// The total of the integers that came, if it is one that fits.
    pub fn integers(&self) -> Option<i64> {
        i64::try_from(self.integers).ok()
    }

    /// The double nearest to the total; infinite if the total is beyond all of them.
    pub fn double(&self) -> f64 {
        if !self.has_doubles {
            #[allow(clippy::cast_precision_loss, reason = "rounded to the nearest, as it should")]
            return self.integers as f64;
        }
        let mut total = self.others.as_deref().cloned().unwrap_or_default();
        total.add_common(self.common);
        total.add_scaled(self.integers.unsigned_abs(), ONE, self.integers < 0);
        total.rounded()
    }
}

/// A double as a mantissa times 2^(shift - 1074).
fn parts(value: f64) -> (u64, u32) {
    const FRACTION: u64 = (1 << 52) - 1;
    let bits = value.to_bits();
    #[allow(clippy::cast_possible_truncation, reason = "11 bits")]
    let exponent = (bits >> 52) as u32 & 0x7ff;
    let fraction = bits & FRACTION;
    // Below the smallest normal number, the leading 1 is not there.
    if exponent == 0 { (fraction, 0) } else { (fraction | (FRACTION + 1), exponent - 1) }
}

/// Where the bit stands that is worth 1: the lowest is worth 2^-1074.
const ONE: u32 = 1074;

/// Doubles take 2098 bits. The rest is for what is carried, more than a total can ever reach.
const LIMBS: usize = 70;

/// How many additions fit before carries must be passed on: each adds less than 2^32 to a
/// limb, which has 63 bits.
const MAX_PENDING: u32 = 1 << 30;

/// A sum of doubles: limbs of 32 bits, the lowest first, each signed and
/// with room for carries.
#[derive(Clone, Debug)]
struct FixedPoint {
    limbs: [i64; LIMBS],
    /// Additions since the carries were passed on.
    pending: u32,
}

impl Default for FixedPoint {
    fn default() -> Self {
        Self { limbs: [0; LIMBS], pending: 0 }
    }
}

impl FixedPoint {
    /// Add a total of common doubles.
    fn add_common(&mut self, common: i128) {
        self.add_scaled(common.unsigned_abs(), ONE - COMMON_SCALE, common < 0);
    }

    /// Add `magnitude` times 2^(`shift` - 1074), or subtract it.
    fn add_scaled(&mut self, magnitude: u128, shift: u32, negative: bool) {
        let (first, offset) = ((shift / 32) as usize, shift % 32);
        // What does not fit beside the offset goes into the limb above.
        let low = magnitude << offset;
        let high = magnitude.checked_shr(128 - offset).unwrap_or(0);
        let limbs = self.limbs.iter_mut().skip(first);
        for (limb, at) in limbs.zip(0..5) {
            let part = if at < 4 { low >> (32 * at) } else { high };
            if part == 0 && high == 0 {
                break;
            }
            #[allow(clippy::cast_possible_truncation, reason = "the 32 bits of this limb")]
            let part = i64::from(part as u32);
            *limb += if negative { -part } else { part };
        }
        self.pending += 1;
        if self.pending == MAX_PENDING {
            self.carry();
        }
    }

    fn merge(&mut self, other: &Self) {
        let mut other = other.clone();
        other.carry();
        self.carry();
        for (limb, added) in self.limbs.iter_mut().zip(other.limbs) {
            *limb += added;
        }
        self.pending += 1;
    }

    /// Pass carries on: afterwards all limbs but the highest are in 0..2^32.
    fn carry(&mut self) {
        let mut carried = 0;
        let Some((highest, limbs)) = self.limbs.split_last_mut() else { return };
        for limb in limbs {
            let total = *limb + carried;
            *limb = total & 0xffff_ffff;
            carried = total >> 32;
        }
        *highest += carried;
        self.pending = 0;
    }

    /// The nearest double; of two that are equally near, the even one.
    fn rounded(mut self) -> f64 {
        self.carry();
        let negative = self.limbs.last().is_some_and(|highest| *highest < 0);
        if negative {
            self.limbs.iter_mut().for_each(|limb| *limb = -*limb);
            self.carry();
        }
        let magnitude = self.magnitude();
        if negative { -magnitude } else { magnitude }
    }

    fn magnitude(&self) -> f64 {
        const DIGITS: usize = 53;
        const INFINITY: u64 = 0x7ff << 52;
        let Some(highest) = self.limbs.iter().rposition(|limb| *limb != 0) else { return 0.0 };
        let length = 32 * highest + 64 - self.limbs[highest].leading_zeros() as usize;
        if length <= DIGITS {
            // The bits of a double count up from the smallest one, and so do ours.
            return f64::from_bits(self.bits(0));
        }
        let dropped = length - DIGITS;
        let digits = self.bits(dropped) & ((1 << DIGITS) - 1);
        let half = self.bits(dropped - 1) & 1 == 1;
        let up = u64::from(half && (digits & 1 == 1 || self.any_below(dropped - 1)));
        // The leading digit adds 1 to the exponent, and so does rounding up to the next one.
        let bits = ((dropped as u64) << 52) + digits + up;
        f64::from_bits(bits.min(INFINITY))
    }

    /// 64 bits from `at` on.
    fn bits(&self, at: usize) -> u64 {
        let limbs = self.limbs.iter().skip(at / 32).take(3);
        let wide = limbs.zip(0..).fold(0_u128, |wide, (limb, place)| {
            wide | u128::from(limb.cast_unsigned()) << (32 * place)
        });
        #[allow(clippy::cast_possible_truncation, reason = "the lower half is wanted")]
        let bits = (wide >> (at % 32)) as u64;
        bits
    }

    /// Whether a bit below `at` is set.
    fn any_below(&self, at: usize) -> bool {
        let (whole, rest) = self.limbs.split_at(at / 32);
        let part = rest.first().is_some_and(|limb| limb & ((1 << (at % 32)) - 1) != 0);
        part || whole.iter().any(|limb| *limb != 0)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn sum_of(values: &[f64]) -> Sum {
        let mut sum = Sum::new();
        for value in values {
            sum.add_double(*value);
        }
        sum
    }

    const TWO_TO_63: f64 = 9_223_372_036_854_775_808.0;

    fn assert_same(left: f64, right: f64) {
        assert_eq!(left.to_bits(), right.to_bits(), "{left} and {right}");
    }

    #[test]
    fn totals_are_exact_and_rounded_once() {
        let cases: &[(&[f64], f64)] = &[
            (&[], 0.0),
            (&[0.1; 10], 1.0),
            (&[1e16, 1.0, -1e16], 1.0),
            (&[1e308, 1e308, -1e308], 1e308),
            (&[1e308, 1e308], f64::INFINITY),
            (&[-1e308, -1e308], f64::NEG_INFINITY),
            (&[f64::MAX, f64::MAX, -f64::MAX, -f64::MAX], 0.0),
            (&[f64::MAX, -5e-324], f64::MAX),
            (&[5e-324, 5e-324], 1e-323),
            (&[f64::MIN_POSITIVE, -5e-324], f64::MIN_POSITIVE - 5e-324),
            (&[1.0, f64::EPSILON / 2.0], 1.0),
            (&[1.0, f64::EPSILON / 2.0, 5e-324], 1.0 + f64::EPSILON),
            (&[1.0 + f64::EPSILON, f64::EPSILON / 2.0], 1.0 + 2.0 * f64::EPSILON),
            (&[-1.0, -f64::EPSILON / 2.0, -5e-324], -1.0 - f64::EPSILON),
            (&[f64::MAX, f64::MAX / 9_007_199_254_740_991.0 / 2.0], f64::INFINITY),
            (&[1e100, 1.0, -1e100, 1e-100], 1.0),
        ];
        for (values, total) in cases {
            assert_eq!(sum_of(values).double().to_bits(), total.to_bits(), "{values:?}");
        }
    }

    #[test]
    fn integers_stay_integers_while_they_fit() {
        let mut sum = Sum::new();
        assert_eq!(sum.integer(), Some(0));
        sum.add_integer(i64::MAX);
        sum.add_integer(1);
        assert_eq!(sum.integer(), None);
        assert_same(sum.double(), TWO_TO_63);
        sum.add_integer(-2);
        assert_eq!(sum.integer(), Some(i64::MAX - 1));
        sum.add_double(0.0);
        assert_eq!(sum.integer(), None);
        assert_same(sum.double(), TWO_TO_63);
    }

    #[test]
    fn integers_and_doubles_add_up_exactly() {
        let mut sum = Sum::new();
        sum.add_integer(i64::MAX);
        sum.add_double(-TWO_TO_63);
        assert_same(sum.double(), -1.0);
        sum.integers = i128::MIN;
        sum.add_double(2_f64.powi(127));
        sum.add_double(TWO_TO_63);
        sum.add_double(0.5);
        assert_same(sum.double(), 0.5);
    }

    #[test]
    fn other_bytes_are_no_sum() {
        let bytes = sum_of(&[0.5, -3.0]).to_bytes();
        assert!(Sum::from_bytes(&bytes).is_some());
        assert_eq!(bytes.len(), 2 * size_of::<i128>());
        for length in (0..bytes.len()).filter(|length| *length != size_of::<i128>()) {
            assert!(Sum::from_bytes(&bytes[..length]).is_none(), "{length}");
        }
        let bytes = sum_of(&[0.5, -3e300]).to_bytes();
        for length in 2 * size_of::<i128>() + 1..bytes.len() {
            assert!(Sum::from_bytes(&bytes[..length]).is_none(), "{length}");
        }
    }

    #[test]
    fn common_doubles_that_no_longer_fit_go_on_exactly() {
        let largest = 2_f64.powi(46) - 2_f64.powi(-7);
        let mut sum = sum_of(&[largest, 2_f64.powi(-28), -0.1]);
        for _ in 0..200 {
            let before = sum.clone();
            sum.merge(&before);
        }
        assert!(sum.others.is_some());
        let total = largest + (2_f64.powi(-28) - 0.1);
        sum.add_double(-total * 2_f64.powi(200));
        // What rounding the total to a double dropped of it.
        assert!(sum.double().abs() < 2_f64.powi(200 - 7));
    }

    #[test]
    fn carries_are_passed_on_in_time() {
        let mut sum = sum_of(&[f64::MAX, -1.5]);
        for _ in 0..100 {
            let before = sum.clone();
            sum.merge(&before);
            sum.merge(&sum_of(&[0.25]));
        }
        assert_same(sum.double(), f64::INFINITY);
    }

    fn finite() -> impl Strategy<Value = f64> {
        prop_oneof![
            any::<u64>().prop_map(f64::from_bits),
            // At the ends of the common ones as well.
            (any::<i32>(), -40..60_i32)
                .prop_map(|(number, power)| { f64::from(number) / 10.0 * 2_f64.powi(power) }),
        ]
        .prop_filter("finite", |value| value.is_finite())
    }

    proptest! {
        #[test]
        fn any_order_and_any_split_give_the_same_bits(
            values in prop::collection::vec(finite(), 0..40),
            integers in prop::collection::vec(any::<i64>(), 0..5),
            at in 0_usize..40,
        ) {
            let mut whole = sum_of(&values);
            let (left, right) = values.split_at(at.min(values.len()));
            let backwards: Vec<f64> = left.iter().rev().copied().collect();
            let mut parts = sum_of(right);
            for value in integers {
                whole.add_integer(value);
                parts.add_integer(value);
            }
            let carried = Sum::from_bytes(&sum_of(&backwards).to_bytes());
            parts.merge(&carried.unwrap_or_default());
            prop_assert_eq!(parts.integer(), whole.integer());
            prop_assert_eq!(whole.double().to_bits(), parts.double().to_bits());
        }

        #[test]
        fn what_is_added_and_taken_away_leaves_nothing(
            values in prop::collection::vec(finite(), 0..20),
            rest in finite(),
        ) {
            let mut sum = sum_of(&values);
            sum.add_double(rest);
            for value in values {
                sum.add_double(-value);
            }
            // Nothing has no sign.
            prop_assert_eq!(sum.double().to_bits(), (rest + 0.0).to_bits());
        }

        #[test]
        fn two_doubles_give_what_the_processor_gives(left in finite(), right in finite()) {
            let total = sum_of(&[left, right]).double();
            prop_assert_eq!(total.to_bits(), (left + right + 0.0).to_bits());
        }
    }
}
