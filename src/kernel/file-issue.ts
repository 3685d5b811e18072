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
