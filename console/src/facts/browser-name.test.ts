import { expect, it } from 'vitest'
import { browserName } from './browser-name.js'

const LINUX = 'Mozilla/5.0 (X11; Linux x86_64)'

it.each([
  [`${LINUX} AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Safari/537.36`, 'Chrome, Linux'],
  [`${LINUX} AppleWebKit/537.36 Chrome/131.0.0.0 Safari/537.36 Edg/131.0.0.0`, 'Edge, Linux'],
  ['Mozilla/5.0 (X11; Linux x86_64; rv:133.0) Gecko/20100101 Firefox/133.0', 'Firefox, Linux'],
  ['Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X) Version/18.1 Safari/604.1', 'Safari, iOS'],
  ['curl/8.5.0', 'curl/8.5.0'],
  ['x'.repeat(300), 'x'.repeat(60)],
])('reads %s', (userAgent, name) => {
  expect(browserName(userAgent)).toBe(name)
})

it('has no name for a browser that did not send one', () => {
  expect(browserName(null)).toBeNull()
})
