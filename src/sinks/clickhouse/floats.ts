import type { ColumnCodec } from './column-codec.js'

/** Bits, because the two servers format the same number differently: 1e+20 and 100000000000000000000. */
export function floatCodec(plain: ColumnCodec, size: 32 | 64): ColumnCodec {
  return {
    ...plain,
    isQuoted: false,
    encode: (text) => SPELLINGS[text] ?? text,
    canonical: (text) => (text === 'NaN' ? 'nan' : bitsOf(Number(text), size)),
    canonicalSql: (expression) =>
      `if(isNaN(${expression}), 'nan', toString(reinterpretAsUInt${size}(${expression})))`,
    decode: (text) => (text === 'nan' ? 'NaN' : format(fromBits(text, size), size)),
  }
}

const SPELLINGS: Readonly<Record<string, string>> = { NaN: 'nan', Infinity: 'inf', '-Infinity': '-inf' }

const view = new DataView(new ArrayBuffer(8))

function bitsOf(value: number, size: 32 | 64): string {
  if (size === 64) {
    view.setFloat64(0, value)
    return String(view.getBigUint64(0))
  }
  view.setFloat32(0, value)
  return String(view.getUint32(0))
}

function fromBits(text: string, size: 32 | 64): number {
  if (size === 64) {
    view.setBigUint64(0, BigInt(text))
    return view.getFloat64(0)
  }
  view.setUint32(0, Number(text))
  return view.getFloat32(0)
}

/** In PostgreSQL's format: the shortest exact digits, with an exponent from 15 (6) digits on. */
function format(value: number, size: 32 | 64): string {
  if (!Number.isFinite(value)) return value > 0 ? 'Infinity' : '-Infinity'
  if (value === 0) return Object.is(value, -0) ? '-0' : '0'
  const [mantissa = '', power = '0'] = shortest(value, size).split('e')
  const exponent = Number(power)
  if (exponent < -4 || exponent >= (size === 64 ? 15 : 6))
    return `${mantissa}e${exponent < 0 ? '-' : '+'}${String(Math.abs(exponent)).padStart(2, '0')}`
  return positional(mantissa, exponent)
}

function shortest(value: number, size: 32 | 64): string {
  if (size === 64) return value.toExponential()
  for (let digits = 0; digits < 8; digits++) {
    const text = value.toExponential(digits)
    if (Math.fround(Number(text)) === value) return text
  }
  return value.toExponential(8)
}

function positional(mantissa: string, exponent: number): string {
  const sign = mantissa.startsWith('-') ? '-' : ''
  const digits = mantissa.replace(/[-.]/g, '')
  if (exponent < 0) return `${sign}0.${'0'.repeat(-exponent - 1)}${digits}`
  const whole = digits.slice(0, exponent + 1).padEnd(exponent + 1, '0')
  const fraction = digits.slice(exponent + 1)
  return sign + whole + (fraction === '' ? '' : `.${fraction}`)
}
