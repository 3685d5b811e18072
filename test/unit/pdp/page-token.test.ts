import { describe, expect, it } from 'vitest'
import { DerivedSigner } from '../../../src/identity/derived-signer.ts'
import { PageTokens } from '../../../src/pdp/page-token.ts'
import { ManualClock } from '../../support/manual-clock.ts'

const key = new Uint8Array(32).fill(7)
const clock = new ManualClock(1_000_000)
const tokensOf = (masterKey: Uint8Array, purpose = 'page tokens') =>
  new PageTokens(new DerivedSigner(masterKey, purpose), clock, 60_000)
const place = { after: 'é "x"', node: 7, returned: 12, cacheKey: 'a', limit: 5 }

describe('a page token', () => {
  it('is accepted by every process with the master key, and by no other', () => {
    const token = tokensOf(key).create(place, 'question')
    expect(tokensOf(key.slice()).read(token, 'question')).toEqual(place)
    expect(tokensOf(new Uint8Array(32)).read(token, 'question')).toBeNull()
    expect(tokensOf(key, 'another purpose').read(token, 'question')).toBeNull()
    expect(tokensOf(key).read(token, 'question2')).toBeNull()
  })

  it('is valid for its lifetime, to the millisecond', () => {
    const tokens = tokensOf(key)
    const token = tokens.create(place, 'question')
    clock.advance(60_000)
    expect(tokens.read(token, 'question')).toEqual(place)
    clock.advance(1)
    expect(tokens.read(token, 'question')).toBeNull()
  })

  it('has exactly one valid text', () => {
    const token = tokensOf(key).create({ after: null, node: 0, returned: 0, cacheKey: '', limit: null }, 'q')
    for (const other of [`${token}=`, `${token}A`, token.replace('.', '..'), ` ${token}`, token.slice(0, -1), '']) {
      expect(tokensOf(key).read(other, 'q')).toBeNull()
    }
    // The last character of a signature contains two bits that are not part of it.
    const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
    const last = alphabet.indexOf(token.at(-1) as string)
    const twin = token.slice(0, -1) + alphabet[last ^ 1]
    expect(tokensOf(key).read(twin, 'q')).toBeNull()
  })
})
