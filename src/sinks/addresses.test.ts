import { expect, it } from 'vitest'
import { readSettings, readTable } from '../config/settings.js'
import { SINKS } from './index.js'

const refusalOf = (name: string, value: string) => {
  const { settings } = SINKS.find(({ settings }) => Object.hasOwn(settings, name))!
  return () => readTable(settings, { [name]: value })
}

it.each([
  ['ELASTICSEARCH_URL', 'http://etl:100%@search:9200', /^ELASTICSEARCH_URL has a % that is not/],
  ['CLICKHOUSE_URL', 'http://etl:100%@clickhouse:8123', /^CLICKHOUSE_URL has a % that is not/],
  ['S3_ENDPOINT', 'http://', /^S3_ENDPOINT must be an address that begins with http/],
  ['S3_ENDPOINT', 'http://minio:port', /^S3_ENDPOINT must be an address that begins with http/],
])('the address %s=%s is rejected at the start, without its password', (name, value, reason) => {
  expect(refusalOf(name, value)).toThrow(reason)
  expect(refusalOf(name, value)).not.toThrow('100%')
})

it('the address of a mail server is rejected at the start, without its password', () => {
  const url = 'smtp://etl:100%@mail'
  const VITRINA_CHANNEL_MAIL = JSON.stringify({ type: 'email', url, from: 'a@b', to: 'c@d' })
  expect(() => readSettings({ VITRINA_CHANNEL_MAIL })).toThrow(/url has a % that is not/)
  expect(() => readSettings({ VITRINA_CHANNEL_MAIL })).not.toThrow('100%')
})
