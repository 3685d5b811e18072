// Signed notes, checkpoints and keys: public examples, and every way in which a note can be wrong.
import { createPrivateKey, createPublicKey, generateKeyPairSync } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { checkpointText, parseCheckpoint } from '../../../../src/audit/log/checkpoint.ts'
import { emptyTree, rootOf } from '../../../../src/audit/log/merkle.ts'
import {
  type NoteVerifier,
  openNote,
  parseNote,
  parseVerifierKey,
  signatureLine,
  signNote,
  witnessSigner,
  witnessVerifierKey,
} from '../../../../src/audit/log/signed-note.ts'
import { newLogKey } from '../../../support/audit-log.ts'

function verifierOf(vkey: string): NoteVerifier {
  const parsed = parseVerifierKey(vkey)
  if (!parsed.ok) throw new Error(parsed.error)
  return parsed.value
}

const key = newLogKey('example.com/log')
const text = checkpointText({ origin: 'example.com/log', size: 0, root: rootOf(emptyTree) })

describe('signed notes', () => {
  it('opens the example of golang.org/x/mod/sumdb/note', () => {
    const vkey = 'PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW'
    const note = [
      'If you think cryptography is the answer to your problem,',
      "then you don't know what your problem is.",
      '',
      '— PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=',
      '',
    ].join('\n')
    const opened = openNote(note, [verifierOf(vkey)])
    expect(opened.ok && [opened.value.verified[0]?.name, opened.value.text]).toEqual([
      'PeterNeumann',
      note.slice(0, note.indexOf('\n\n') + 1),
    ])
    const changed = openNote(note.replace('answer', 'Answer'), [verifierOf(vkey)])
    expect(changed).toEqual({ ok: false, error: 'the signature of PeterNeumann is invalid' })
  })

  // From https://github.com/transparency-dev/formats, note/note_verifier_test.go.
  const publicLogs = [
    {
      vkey: 'rekor.sigstore.dev+c0d23d6a+AjBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABNhtmPtrWm3U1eQXBogSMdGvXwBcK5AW5i0hrZLOC96l+smGNM7nwZ4QvFK/4sueRoVj//QP22Ni4Qt9DPfkWLc=',
      note: 'Rekor\n798034\nf+7CoKgXKE/tNys9TTXcr/ad6U/K3xvznmzew9y6SP0=\n\n— rekor.sigstore.dev wNI9ajBEAiARInWIWyCdyG27CO6LPnPekyw20qO0YJfoaPaowGp/XgIgc+qEHS3+GKVClgqq20uDLet7MCoTURUCRdxwWBHHufk=\n',
    },
    {
      vkey: 'pixel6_transparency_log+91c16e30+AjBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABN+4x0Jk1yTwvLFI9A4NDdGZcX0aiWVdWM5XJVy0M4VWD3AvyW5Q6Hs9A0mcDkpUoYgn+KKPNzFC0H3nN3q6JQ8=',
      note: 'DEFAULT\n10\nbsWRucJU5xJPHb5eBdOm6+DM+VelCZBuvtI3sHERJ9Y=\n\n— pixel6_transparency_log kcFuMDBFAiEAhqMAP8P6qf6QxtUJhzMhbN+MbZ9dwfUHzGQJmffJHtoCIGD0cNe47dHWBoPwYdgBCepB06/+g5O1FmYjXl06owL4\n',
    },
  ]
  it.each(publicLogs)('opens a P-256 checkpoint of a public log: $vkey', ({ vkey, note }) => {
    const opened = openNote(note, [verifierOf(vkey)])
    expect(opened.ok && parseCheckpoint(opened.value.text).ok).toBe(true)
    expect(openNote(note.replace(/\n(\d+)\n/, '\n1$1\n'), [verifierOf(vkey)]).ok).toBe(false)
  })

  it('opens what it signed with P-256, with several keys, and with a cosignature', async () => {
    const customer = newLogKey('customer.example/key')
    const { privateKey, publicKey } = generateKeyPairSync('ed25519')
    const witness = witnessSigner('witness.example/w1', privateKey, 1_679_315_147)
    const note = await signNote(text, [key.signer, customer.signer, witness])
    const vkeys = [key.vkey, customer.vkey, witnessVerifierKey('witness.example/w1', publicKey)]
    for (const vkey of vkeys) expect(openNote(note, [verifierOf(vkey)]).ok).toBe(true)
    const all = openNote(note, vkeys.map(verifierOf))
    expect(all.ok && all.value.verified.map(({ name }) => name)).toEqual([
      'example.com/log',
      'customer.example/key',
      'witness.example/w1',
    ])
    // The time of a cosignature is signed.
    const line = note.trimEnd().split('\n').at(-1) as string
    const bytes = Buffer.from(line.split(' ')[2] as string, 'base64')
    bytes.writeUInt8(bytes.readUInt8(11) ^ 1, 11)
    const changed = note.replace(line.split(' ')[2] as string, bytes.toString('base64'))
    expect(openNote(changed, vkeys.map(verifierOf))).toEqual({
      ok: false,
      error: 'the signature of witness.example/w1 is invalid',
    })
  })

  it('ignores signatures of unknown keys, also with a known name, and needs one of a known key', async () => {
    const other = newLogKey('example.com/log')
    const note = await signNote(text, [other.signer])
    expect(openNote(note, [verifierOf(key.vkey)])).toEqual({
      ok: false,
      error: `no signature is of a given key; the note is signed by example.com/log+${Buffer.from(other.signer.keyId).toString('hex')}`,
    })
    expect(
      openNote(note + (await signNote(text, [key.signer])).slice(text.length + 1), [verifierOf(key.vkey)]).ok,
    ).toBe(true)
  })

  it('refuses a note with an invalid signature of a known key, even after a valid one', async () => {
    const note = await signNote(text, [key.signer])
    const forged = note + signatureLine(key.signer.name, key.signer.keyId, Buffer.alloc(70))
    expect(openNote(forged, [verifierOf(key.vkey)])).toEqual({
      ok: false,
      error: 'the signature of example.com/log is invalid',
    })
  })

  it.each([
    ['no signatures', `${text}`, 'the note has no empty line before its signatures'],
    ['an empty list of signatures', `${text}\n`, 'the note has no signature'],
    ['a hyphen for the dash', `${text}\n- a AAAAAAAA\n`, 'signature line 1 of the note is malformed'],
    ['a name with a plus sign', `${text}\n— a+b AAAAAAAA\n`, 'signature line 1 of the note is malformed'],
    ['a key id without signature', `${text}\n— a AAAAAA==\n`, 'signature line 1 of the note is malformed'],
    ['a second encoding of the same bytes', `${text}\n— a AAAAAAB=\n`, 'signature line 1 of the note is malformed'],
    ['no line feed at the end', `${text}\n— a AAAAAAA=`, 'the last line of the note is incomplete'],
    ['a control character', `a\tb\n\n— a AAAAAAA=\n`, 'the note has control characters'],
    ['101 signatures', `${text}\n${'— a AAAAAAA=\n'.repeat(101)}`, 'the note has more than 100 signatures'],
  ])('refuses %s', (_, note, error) => {
    expect(parseNote(note)).toEqual({ ok: false, error })
  })

  it.each([
    ['no parts', 'key'],
    ['a wrong id', key.vkey.replace(/\+[0-9a-f]{8}\+/, '+00000000+')],
    ['an unknown type', `a+00000000+${Buffer.from([9, 1, 2]).toString('base64')}`],
    ['no key', `a+00000000+${Buffer.from([2]).toString('base64')}`],
    ['half a key', `a+00000000+${Buffer.from([2, ...Buffer.alloc(40)]).toString('base64')}`],
    ['a short Ed25519 key', `a+00000000+${Buffer.from([1, ...Buffer.alloc(31)]).toString('base64')}`],
    ['another curve', p384Key()],
  ])('refuses a verifier key with %s', (_, vkey) => {
    expect(parseVerifierKey(vkey).ok).toBe(false)
  })
})

function p384Key(): string {
  const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-384' })
  const der = publicKey.export({ type: 'spki', format: 'der' })
  return `a+00000000+${Buffer.concat([Buffer.from([2]), der]).toString('base64')}`
}

describe('checkpoints', () => {
  it('reads the example of C2SP tlog-checkpoint', () => {
    const example = 'example.com/behind-the-sofa\n20852163\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n'
    const parsed = parseCheckpoint(example)
    expect(parsed.ok && [parsed.value.size, checkpointText(parsed.value)]).toEqual([20_852_163, example])
    expect(parseCheckpoint(`${example}extension\n`).ok).toBe(true)
  })

  it.each([
    '',
    '\n1\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n',
    'log\n01\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n',
    'log\n-1\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n',
    'log\n9999999999999999\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n',
    'log\n1\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2J=\n',
    'log\n1\nCsUYapGGPo4dkMgIAUqom\n',
    'log\n1\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=',
    'log\n1\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n\n',
  ])('refuses %j', (wrong) => {
    expect(parseCheckpoint(wrong).ok).toBe(false)
  })
})

describe('the key of a signer', () => {
  it('has the id of its public key', () => {
    const spki = createPublicKey(createPrivateKey(key.privateKey.export({ type: 'pkcs8', format: 'pem' })))
    expect(verifierOf(key.vkey).keyId).toEqual(Buffer.from(key.signer.keyId))
    expect(spki.asymmetricKeyType).toBe('ec')
  })
})
