// The command `lsp`: a language server on the standard input and output.
import { existsSync } from 'node:fs'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { createConnection, StreamMessageReader, StreamMessageWriter } from 'vscode-languageserver/node'
import packageJson from '../../../package.json' with { type: 'json' }
import { serveLanguage } from '../../language/server/language-server.ts'
import type { LanguageDocument } from '../../language/source/policy-source.ts'
import type { Settings } from '../../settings.ts'
import { printNotice } from '../output/print.ts'
import { type NameFlags, policyFilesBelow, readDocuments, readNames } from './language-files.ts'

/** Runs `lsp` until the editor ends it. `settings`: reads the settings, which only `--project` needs. */
export async function serveEditor(settings: () => Settings, flags: NameFlags): Promise<void> {
  const connection = createConnection(new StreamMessageReader(process.stdin), new StreamMessageWriter(process.stdout))
  serveLanguage(connection, {
    version: packageJson.version,
    readFolders: (uris) => uris.flatMap(readFolder),
    readNames: () => readNames(settings, flags),
    report: (message) => {
      printNotice(message)
      connection.window.showWarningMessage(message)
    },
  })
  connection.listen()
  // The connection ends the process after `exit`, and when the editor closes the input.
  await new Promise(() => {})
}

function readFolder(uri: string): readonly LanguageDocument[] {
  if (!uri.startsWith('file:')) return []
  const folder = fileURLToPath(uri)
  const files = existsSync(folder) ? policyFilesBelow(folder) : []
  return readDocuments(files).map(({ file, text }) => ({ file: pathToFileURL(file).href, text }))
}
