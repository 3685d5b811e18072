// Whether this process has room for one more store. The package ends the process where the system refuses it a file or a
// mapping while it opens one, and every other project with it: so that is known before.
import { closeSync, openSync, readFileSync } from 'node:fs'
import { devNull } from 'node:os'
import { OperationalError } from '../../kernel/errors.ts'
import { MAP_BYTES } from './open-file.ts'

/** Of the 128 TiB that a process of 64 bits can map: the rest is for the program, and for maps that have to grow. */
const ADDRESS_BYTES = 96 * 2 ** 40

/** A store keeps five; LMDB has some more while it opens one. */
const FILES_AT_OPENING = 8

/** What an open graph takes: five of LMDB, two of the locks, one to prove what is absent, and one while it is opened. */
const FILES_PER_GRAPH = 9

/** Where the system does not say how many files a process may open. */
const DEFAULT_FILES_MAX = 1024

const OPEN_GRAPHS_MIN = 16

/** The process has as much open as it may: less would be possible. */
export class ResourceLimitError extends OperationalError {
  override readonly name = 'RoomFault'
}

/** How many graphs a process may have open: they take half of its files and half of its address space. */
export function maxOpenGraphs(): number {
  const ofFiles = Math.floor(readMaxOpenFiles() / 2 / FILES_PER_GRAPH)
  const ofAddresses = Math.floor(ADDRESS_BYTES / 2 / MAP_BYTES)
  return Math.max(OPEN_GRAPHS_MIN, Math.min(ofFiles, ofAddresses))
}

function readMaxOpenFiles(): number {
  try {
    const told = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1]
    return told === undefined ? DEFAULT_FILES_MAX : Number(told)
  } catch {
    return DEFAULT_FILES_MAX
  }
}

let mappedBytes = 0

/** Throws RoomFault where there is none. To be given back when the store is closed. */
export function reserveAddressSpace(path: string, mapBytes: number): () => void {
  if (mappedBytes + mapBytes > ADDRESS_BYTES) {
    throw limitError(path, 'this process has as many stores open as it can map into its address space')
  }
  const lack = findFileShortage()
  if (lack !== null) throw limitError(path, lack)
  mappedBytes += mapBytes
  let isTaken = true
  return () => {
    if (isTaken) mappedBytes -= mapBytes
    isTaken = false
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
      ? `${isOwn ? 'this process' : 'the system'} has as many files open as it may (\`ulimit -n\`)`
      : message
  } finally {
    for (const file of files) closeSync(file)
  }
}

function limitError(path: string, why: string): ResourceLimitError {
  return new ResourceLimitError(`the store in ${path} cannot be opened: ${why}`)
}
