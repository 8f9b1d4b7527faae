import { expect, it } from 'vitest'
import { plainPasswords } from './plain-passwords.js'

it.each([
  'postgres://etl:s3cret@db/cinema',
  'host=db dbname=cinema user=etl password=s3cret',
  'password = s3cret  host = db',
  "dblink('host=db\npassword=s3cret', 'SELECT 1')",
  'host=a\nhost=b password=s3cret',
])('finds the password in %j', (text) => {
  expect(plainPasswords({ a: ['', text] })).toEqual([['a', 1]])
})

it.each([
  'postgres://etl@db/cinema',
  "SELECT id FROM users WHERE host = 'a' AND password = 'b'",
  'user=a\n\npassword=b',
  'password=',
])('finds none in %j', (text) => {
  expect(plainPasswords({ a: text })).toEqual([])
})

// One expression for both parts took minutes for each of these.
it.each(['host=a ', 'password=a ', 'host=a\npassword '])(
  'takes linear time for a megabyte of %j',
  (piece) => {
    expect(plainPasswords(piece.repeat(Math.floor(1_048_576 / piece.length)))).toEqual([])
  },
)
