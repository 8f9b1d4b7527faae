/** An exact number. What a mart rounds is computed here without rounding, and rounded once, as PostgreSQL does. */
export class Fraction {
  readonly #over: bigint
  readonly #under: bigint

  constructor(over: bigint | number, under: bigint | number = 1) {
    const [a, b] = [BigInt(over), BigInt(under)]
    const shared = divisor(a, b) * (b < 0n ? -1n : 1n)
    this.#over = a / shared
    this.#under = b / shared
  }

  /** A decimal number, such as 8.30. */
  static read(text: string): Fraction {
    const [, whole = '', places = ''] = /^(-?\d+)(?:\.(\d+))?$/.exec(text) ?? []
    return new Fraction(BigInt(whole + places), 10n ** BigInt(places.length))
  }

  static sum(all: readonly Fraction[]): Fraction {
    return all.reduce((sum, one) => sum.plus(one), new Fraction(0))
  }

  /** Null without numbers, like avg(). */
  static average(all: readonly Fraction[]): Fraction | null {
    return all.length === 0 ? null : Fraction.sum(all).over(new Fraction(all.length))
  }

  plus(other: Fraction): Fraction {
    return new Fraction(this.#over * other.#under + other.#over * this.#under, this.#under * other.#under)
  }

  times(other: Fraction): Fraction {
    return new Fraction(this.#over * other.#over, this.#under * other.#under)
  }

  over(other: Fraction): Fraction {
    return new Fraction(this.#over * other.#under, this.#under * other.#over)
  }

  compare(other: Fraction): number {
    const difference = this.#over * other.#under - other.#over * this.#under
    return difference === 0n ? 0 : difference < 0n ? -1 : 1
  }

  /** Half away from zero, with all its decimal places, as numeric is written. For numbers that are not negative. */
  round(places: number): string {
    const scaled = (2n * this.#over * 10n ** BigInt(places) + this.#under) / (2n * this.#under)
    const digits = scaled.toString().padStart(places + 1, '0')
    return `${digits.slice(0, -places)}.${digits.slice(-places)}`
  }
}

function divisor(a: bigint, b: bigint): bigint {
  return b === 0n ? (a < 0n ? -a : a) : divisor(b, a % b)
}
