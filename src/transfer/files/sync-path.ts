// Makes files and renames durable.
import { closeSync, fsyncSync, openSync } from 'node:fs'

/** Syncs a file, or the entries of a folder, to disk (fsync). */
export function syncPath(path: string): void {
  const file = openSync(path, 'r')
  try {
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
}
