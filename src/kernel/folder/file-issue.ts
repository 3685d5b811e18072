// Describes errors of the file system for people.

const issues: Readonly<Record<string, string>> = {
  EACCES: 'this user has no permission to read it',
  EPERM: 'this user has no permission to read it',
  ELOOP: 'its symbolic links form a loop',
  ENOTDIR: 'expected a folder, found a file',
  EISDIR: 'expected a file, found a folder',
  ENOENT: 'it does not exist',
  ENAMETOOLONG: 'the path is too long',
}

/** Why a file or folder cannot be read; null: the error is not one of the file system. */
export function fileIssueOf(error: unknown): string | null {
  if (!(error instanceof Error)) return null
  const { code, syscall, message } = error as { code?: unknown; syscall?: unknown; message: string }
  if (typeof code !== 'string' || typeof syscall !== 'string') return null
  return issues[code] ?? `it cannot be read: ${message}`
}

const problems: Readonly<Record<string, string>> = {
  EACCES: 'this user has no permission; run the program as the owner, or change the rights',
  EPERM: 'this user has no permission; run the program as the owner, or change the rights',
  EROFS: 'the file system is read-only; mount it writable, or choose another place',
  ENOENT: 'it does not exist; create it, or correct the path',
  ENOTDIR: 'a part of the path is a file; choose another path',
  EISDIR: 'it is a folder; name a file',
  EEXIST: 'it exists already; remove it, or choose another path',
  ENOTEMPTY: 'the folder is not empty; choose another path',
  ENOSPC: 'the disk is full; make space',
  EDQUOT: 'the quota of this user is used up; make space',
  EFBIG: 'the file size limit is reached; raise it (`ulimit -f`)',
  ENAMETOOLONG: 'the path is too long; choose a shorter one',
  ELOOP: 'its symbolic links form a loop; correct the path',
  EMFILE: 'the process has too many open files; raise the limit (`ulimit -n`)',
  EBUSY: 'it is in use, for example as a mount point; choose another path',
  ETXTBSY: 'it is a program that runs; choose another path',
}

/** Which file or folder cannot be used, why, and what to do; null: the error is not one of the file system, or has no path. */
export function fileProblemOf(error: unknown): string | null {
  if (!(error instanceof Error)) return null
  const { code, syscall, path, dest } = error as { code?: unknown; syscall?: unknown; path?: unknown; dest?: unknown }
  if (typeof code !== 'string' || typeof syscall !== 'string' || typeof path !== 'string' || path === '') return null
  const problem =
    syscall === 'mkdir' && code === 'EEXIST' ? 'a file with this name exists; choose another path' : problems[code]
  const where = typeof dest === 'string' ? `${path}, or ${dest},` : path
  // The name of the error is what people search for.
  return problem === undefined ? null : `${where} cannot be used: ${problem} (${code})`
}

const WRITES = ['write', 'pwrite', 'writev', 'fsync', 'ftruncate', 'close']

/** The error, with the path of the file if it is one of a write: the system reports those without a path. */
export function withPath(error: unknown, path: string): unknown {
  const { syscall, path: known } = (error ?? {}) as { syscall?: unknown; path?: unknown }
  const isUnnamed = typeof syscall === 'string' && WRITES.includes(syscall) && known === undefined
  return error instanceof Error && isUnnamed ? Object.assign(error, { path }) : error
}
