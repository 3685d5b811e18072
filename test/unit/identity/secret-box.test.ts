import { chmodSync, existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, describe, expect, test } from 'vitest'
import { givenMasterKey, loadMasterKey } from '../../../src/identity/master-key.ts'
import { SecretBox } from '../../../src/identity/secret-box.ts'
import { removeTemporaryFolders, temporaryFolder } from '../../support/configuration-fixture.ts'

afterAll(removeTemporaryFolders)

const keyOf = (byte: number) => new Uint8Array(32).fill(byte)
const box = new SecretBox(keyOf(1))

describe('an encrypted secret', () => {
  test('decrypts to its plain text, for any text and place, and reveals nothing of it', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), fc.string(), (plain, place) => {
        const sealed = box.seal(plain, place)
        expect(sealed).toMatch(/^sb1\.[\w-]{11}\.[\w-]+\.[\w-]+$/)
        expect(box.open(sealed, place)).toBe(plain)
      }),
      { verbose: true },
    )
  })

  test('differs each time', () => {
    expect(box.seal('same', 'a')).not.toBe(box.seal('same', 'a'))
  })

  test('does not decrypt at another place, with another key, or if any part was changed', () => {
    const sealed = box.seal('secret', 'here')
    expect(() => box.open(sealed, 'there')).toThrow('damaged or was moved from another path')
    expect(() => new SecretBox(keyOf(2)).open(sealed, 'here')).toThrow('encrypted with another master key')
    expect(() => box.open('in clear', 'here')).toThrow('not an encrypted secret')
    expect(() => box.open('sb1.a', 'here')).toThrow('not an encrypted secret')
    const parts = sealed.split('.')
    const other = box.seal('secret', 'here').split('.')
    expect(() => box.open([parts[0], parts[1], other[2], parts[3]].join('.'), 'here')).toThrow('damaged')
    for (const index of [2, 3]) {
      const changed = [...parts]
      const text = changed[index] as string
      changed[index] = `${text.startsWith('A') ? 'B' : 'A'}${text.slice(1)}`
      expect(() => box.open(changed.join('.'), 'here')).toThrow('damaged')
      changed[index] = text.slice(0, 20)
      expect(() => box.open(changed.join('.'), 'here')).toThrow('damaged')
    }
  })

  test('needs a master key of 32 bytes', () => {
    expect(() => new SecretBox(new Uint8Array(16))).toThrow('32 bytes')
  })
})

describe('the master key', () => {
  const load = (dataDir: string, text?: string, mayCreate = true) =>
    loadMasterKey({
      dataDir,
      given: givenMasterKey('VERDIGRAPH_MASTER_KEY', { VERDIGRAPH_MASTER_KEY: text }),
      mayCreate,
    })

  test('is created once, in a file that only its owner can read', () => {
    const dir = join(temporaryFolder(), 'data')
    const key = load(dir)
    expect(key).toHaveLength(32)
    expect(statSync(join(dir, 'master.key')).mode & 0o777).toBe(0o600)
    expect(load(dir, undefined, false)).toEqual(key)
    expect(load(dir, '')).toEqual(key)
  })

  test('from the environment takes precedence over the file, in base64 or hexadecimal, and creates no file', () => {
    const dir = temporaryFolder()
    const key = Buffer.from(keyOf(7))
    expect(load(dir, key.toString('base64'))).toEqual(key)
    expect(load(dir, key.toString('base64url'))).toEqual(key)
    expect(load(dir, ` ${key.toString('hex')}\n`)).toEqual(key)
    expect(existsSync(join(dir, 'master.key'))).toBe(false)
  })

  test('that is invalid is refused, without being printed', () => {
    const dir = temporaryFolder()
    expect(() => load(dir, 'hunter2')).toThrow(
      'VERDIGRAPH_MASTER_KEY does not contain a master key: expected 32 bytes in base64 or in hexadecimal',
    )
    writeFileSync(join(dir, 'master.key'), 'short\n')
    chmodSync(join(dir, 'master.key'), 0o600)
    expect(() => load(dir)).toThrow('master.key does not contain a master key')
    expect(readFileSync(join(dir, 'master.key'), 'utf8')).toBe('short\n')
  })

  test('from a credential takes precedence over the file, but not over the environment', () => {
    const [dir, credentials] = [temporaryFolder(), temporaryFolder()]
    const given = (variables: Record<string, string>) =>
      givenMasterKey('VERDIGRAPH_MASTER_KEY', { CREDENTIALS_DIRECTORY: credentials, ...variables })
    expect(given({})).toBeNull()
    const path = join(credentials, 'verdigraph.master-key')
    const [key, other] = [Buffer.from(keyOf(7)), Buffer.from(keyOf(8))]
    writeFileSync(path, `${key.toString('base64')}\n`)
    expect(loadMasterKey({ dataDir: dir, given: given({}), mayCreate: true })).toEqual(key)
    expect(existsSync(join(dir, 'master.key'))).toBe(false)
    const both = given({ VERDIGRAPH_MASTER_KEY: other.toString('hex') })
    expect(loadMasterKey({ dataDir: dir, given: both, mayCreate: true })).toEqual(other)
    writeFileSync(path, 'hunter2')
    expect(() => loadMasterKey({ dataDir: dir, given: given({}), mayCreate: true })).toThrow(
      `${path} does not contain a master key: expected 32 bytes in base64 or in hexadecimal`,
    )
  })

  test('that is lost is not replaced if there are secrets already', () => {
    expect(() => load(temporaryFolder(), undefined, false)).toThrow(
      'the data folder has no master.key: restore the file or set VERDIGRAPH_MASTER_KEY',
    )
  })
})
