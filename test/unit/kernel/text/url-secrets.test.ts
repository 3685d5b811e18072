// Which query parameters of a URL are secrets.
import { describe, expect, test } from 'vitest'
import { secretParametersOf, withoutSecretParameters } from '../../../../src/kernel/text/url-secrets.ts'

describe('a query parameter', () => {
  test.each([
    ...['api_key', 'apikey', 'apiKey', 'X-Api-Key', 'key', 'token', 'access_token', 'authToken', 'client-secret'],
    ...['password', 'sig', 'signature', 'subscription-key', 'auth', 'api%5Fkey', 'refresh_token'],
  ])('%s is a secret', (name) => {
    const url = `https://example.org/a?b=1&${name}=x-1#c`
    expect(secretParametersOf(url)).toEqual([decodeURIComponent(name)])
    expect(withoutSecretParameters(url)).toBe(`https://example.org/a?b=1&${name}=(secret)#c`)
    expect(secretParametersOf(url.replace('x-1', '{$value || x-1}'))).toHaveLength(1)
    for (const value of ['', '{$value}', '{$a}{$b}']) expect(secretParametersOf(url.replace('x-1', value))).toEqual([])
  })

  test.each(['sort_key', 'keyword', 'author', 'page', 'currency', 'monkey', '100%'])('%s is not', (name) => {
    const url = `https://example.org/a?${name}=x`
    expect(secretParametersOf(url)).toEqual([])
    expect(withoutSecretParameters(url)).toBe(url)
  })
})
