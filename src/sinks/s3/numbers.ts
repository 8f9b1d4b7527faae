import { trimEnd } from '../../model/trim-end.js'
import { S3ValueError } from './value-error.js'

const DECIMAL = /^(-?)(\d+)(?:\.(\d+))?$/

/** The digits without the point, as Parquet stores a decimal. */
export function unscaledOf(text: string, precision: number, scale: number): bigint {
  const parts = DECIMAL.exec(text)
  if (parts === null) throw new S3ValueError(`${text} does not fit into decimal(${precision},${scale})`)
  const fraction = trimEnd(parts[3] ?? '', '0')
  if (fraction.length > scale) throw new S3ValueError(`${text} has more than ${scale} decimals`)
  const digits = (parts[2]! + fraction.padEnd(scale, '0')).replace(/^0+(?=\d)/, '')
  if (digits.length > precision)
    throw new S3ValueError(`${text} has more digits than decimal(${precision},${scale})`)
  return BigInt(parts[1]! + digits)
}

export function decimalOf(unscaled: bigint, scale: number): string {
  const digits = String(unscaled < 0n ? -unscaled : unscaled).padStart(scale + 1, '0')
  const whole = digits.slice(0, digits.length - scale)
  const sign = unscaled < 0n ? '-' : ''
  return scale === 0 ? sign + whole : `${sign}${whole}.${digits.slice(-scale)}`
}

/** Two's complement, the most significant byte first. */
export function signedOf(bytes: Uint8Array): bigint {
  return BigInt.asIntN(bytes.length * 8, BigInt(`0x${Buffer.from(bytes).toString('hex')}`))
}

export function integerOf(text: string, least: number, most: number): number {
  const value = /^-?\d+$/.test(text) ? Number(text) : Number.NaN
  if (!(value >= least && value <= most))
    throw new S3ValueError(`${text} is not an integer from ${least} to ${most}`)
  return value
}

const LONG = 2n ** 63n

export function longOf(text: string): bigint {
  const value = /^-?\d+$/.test(text) ? BigInt(text) : LONG
  if (value < -LONG || value >= LONG) throw new S3ValueError(`${text} is not a 64-bit integer`)
  return value
}

export function floatOf(text: string): number {
  const value = Number(text)
  if (text.trim() === '' || (Number.isNaN(value) && text !== 'NaN'))
    throw new S3ValueError(`${text} is not a number`)
  return value
}

/** In PostgreSQL's format: the fewest digits that read back as the same number. */
export function floatText(value: number, digits: 6 | 15): string {
  if (Object.is(value, -0)) return '-0'
  if (!Number.isFinite(value) || value === 0) return String(value)
  const [mantissa, power] = shortest(value, digits).split('e') as [string, string]
  const exponent = Number(power)
  if (exponent >= -4 && exponent < digits) return plainText(mantissa, exponent)
  return `${mantissa}e${exponent < 0 ? '-' : '+'}${String(Math.abs(exponent)).padStart(2, '0')}`
}

function shortest(value: number, digits: 6 | 15): string {
  if (digits === 15) return value.toExponential()
  for (let places = 0; places < 9; places++) {
    const text = value.toExponential(places)
    if (Math.fround(Number(text)) === value) return text
  }
  return value.toExponential()
}

function plainText(mantissa: string, exponent: number): string {
  const sign = mantissa.startsWith('-') ? '-' : ''
  const digits = mantissa.replace(/[-.]/g, '')
  if (exponent < 0) return `${sign}0.${'0'.repeat(-exponent - 1)}${digits}`
  const whole = digits.slice(0, exponent + 1).padEnd(exponent + 1, '0')
  const rest = digits.slice(exponent + 1)
  return rest === '' ? sign + whole : `${sign}${whole}.${rest}`
}
