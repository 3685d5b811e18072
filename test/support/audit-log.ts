// Builds audit logs for tests, signed with a key of the test.
import { createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto'
import { checkpointText } from '../../src/audit/log/checkpoint.ts'
import { emptyTree, type TreeState } from '../../src/audit/log/merkle.ts'
import { ecdsaSigner, type NoteSigner, signNote, verifierKey } from '../../src/audit/log/signed-note.ts'
import { TileFolder } from '../../src/audit/log/tile-folder.ts'

/** A P-256 key with its name. */
export interface LogKey {
  readonly signer: NoteSigner
  readonly vkey: string
  readonly privateKey: KeyObject
}

export function newLogKey(name: string): LogKey {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const spki = createPublicKey(privateKey).export({ type: 'spki', format: 'der' })
  return { signer: ecdsaSigner(name, privateKey), vkey: verifierKey(name, spki), privateKey }
}

/** An entry in the form of the service: a CloudEvent of a stream with a sequence. */
export function auditEntry(index: number, members: object = {}): Uint8Array {
  const sequence = String(index).padStart(16, '0')
  const data = { eventType: 'svc.audit.config.update', version: 1, requestId: `request-${index}`, ...members }
  const source = '/projects/p/configuration/abcdefghij'
  return Buffer.from(
    JSON.stringify({
      specversion: '1.0',
      id: `abcdefghij-${index}`,
      source,
      type: 'svc.audit.config.update',
      sequence,
      data,
    }),
  )
}

/** A log that a test writes. */
export class WrittenLog {
  readonly folder: string
  readonly origin: string
  readonly tiles: TileFolder
  state: TreeState = emptyTree
  /** The last checkpoint. */
  note = ''

  constructor(folder: string, origin: string) {
    this.folder = folder
    this.origin = origin
    this.tiles = new TileFolder(folder)
  }

  /** Appends entries and publishes a checkpoint with these signatures. */
  async append(entries: readonly Uint8Array[], signers: readonly NoteSigner[]): Promise<void> {
    const { state, root } = await this.tiles.append(this.state, entries)
    this.state = state
    this.note = await signNote(checkpointText({ origin: this.origin, size: state.size, root }), signers)
    await this.tiles.publish(this.note)
  }

  /** Appends entries of `auditEntry`. */
  async grow(count: number, signers: readonly NoteSigner[]): Promise<void> {
    const { size } = this.state
    await this.append(
      Array.from({ length: count }, (_, at) => auditEntry(size + at)),
      signers,
    )
  }
}
