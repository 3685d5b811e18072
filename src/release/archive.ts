// Archives that depend on their contents only: no names of users, no modes of this machine, one time for all files.
import { readFileSync } from 'node:fs'
import { pack } from 'tar-stream'

/** libdeflate writes the same bytes on every processor; zlib's forks choose instructions, and then matches, by the processor. */
const GZIP = { library: 'libdeflate', level: 6 } as const

/** A file of an archive. `from`: a path, or the bytes. */
export interface ArchiveFile {
  readonly name: string
  readonly from: string | Uint8Array
  readonly isProgram?: boolean
}

/** Returns a .tar.gz. `timeMs`: of all files. */
export async function tarGz(files: readonly ArchiveFile[], timeMs: number): Promise<Uint8Array> {
  const archive = pack()
  const chunks: Uint8Array[] = []
  const collected = (async () => {
    for await (const chunk of archive) chunks.push(chunk as Uint8Array)
  })()
  for (const { name, from, isProgram = false } of files) {
    const bytes = typeof from === 'string' ? readFileSync(from) : from
    const mode = isProgram ? 0o755 : 0o644
    archive.entry({ name, mode, size: bytes.length, mtime: new Date(timeMs), uid: 0, gid: 0 }, Buffer.from(bytes))
  }
  archive.finalize()
  await collected
  return Bun.gzipSync(Buffer.concat(chunks), GZIP)
}
