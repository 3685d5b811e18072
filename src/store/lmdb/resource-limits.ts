// Limits of open files and address space. If the system refuses a file or a mapping while lmdb-js opens an environment, the
// process ends, and with it all other projects. So the limits are checked before.
import { closeSync, openSync, readFileSync } from 'node:fs'
import { devNull } from 'node:os'
import { OperationalError } from '../../kernel/errors.ts'
import { MAP_BYTES } from './open-file.ts'

/** Of the 128 TiB that a 64-bit process can map. The remainder is for the program and for maps that grow. */
const ADDRESS_BYTES = 96 * 2 ** 40

/** File descriptors needed while an environment is opened. An open one keeps six. */
const FILES_AT_OPENING = 9

/** File descriptors of an open graph: five of LMDB, four of locks, one of NegativeLookup, one while it is opened. */
const FILES_PER_GRAPH = 11

/** Used if the system does not report its limit. */
const DEFAULT_FILES_MAX = 1024

const OPEN_GRAPHS_MIN = 16

/** The process has reached a limit. Closing other environments may help. */
export class ResourceLimitError extends OperationalError {
  override readonly name = 'ResourceLimitError'
}

/** Number of graphs that a process may have open: half of its file descriptors and half of its address space. */
export function maxOpenGraphs(): number {
  const ofFiles = Math.floor(readMaxOpenFiles() / 2 / FILES_PER_GRAPH)
  const ofAddresses = Math.floor(ADDRESS_BYTES / 2 / MAP_BYTES)
  return Math.max(OPEN_GRAPHS_MIN, Math.min(ofFiles, ofAddresses))
}

function readMaxOpenFiles(): number {
  try {
    const reported = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1]
    return reported === undefined ? DEFAULT_FILES_MAX : Number(reported)
  } catch {
    return DEFAULT_FILES_MAX
  }
}

let mappedBytes = 0

/**
 * Reserves address space for a map of `mapBytes`. Call the returned function when the environment is closed. Throws
 * ResourceLimitError if address space or file descriptors are exhausted.
 */
export function reserveAddressSpace(path: string, mapBytes: number): () => void {
  if (mappedBytes + mapBytes > ADDRESS_BYTES) {
    throw limitError(path, 'the address space of this process is full')
  }
  const shortage = findFileShortage()
  if (shortage !== null) throw limitError(path, shortage)
  mappedBytes += mapBytes
  let isReserved = true
  return () => {
    if (isReserved) mappedBytes -= mapBytes
    isReserved = false
  }
}

function findFileShortage(): string | null {
  const files: number[] = []
  try {
    while (files.length < FILES_AT_OPENING) files.push(openSync(devNull, 'r'))
    return null
  } catch (failure) {
    const { code, message } = failure as NodeJS.ErrnoException
    const isOwn = code === 'EMFILE'
    return isOwn || code === 'ENFILE'
      ? `${isOwn ? 'this process' : 'the system'} has reached its limit of open files (\`ulimit -n\`)`
      : message
  } finally {
    for (const file of files) closeSync(file)
  }
}

function limitError(path: string, why: string): ResourceLimitError {
  return new ResourceLimitError(`the store in ${path} cannot be opened: ${why}`)
}
