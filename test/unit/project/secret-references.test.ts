// References to secrets in the files of a project.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { err, ok } from '../../../src/kernel/result.ts'
import { defaultSecretLookup, resolveSecret, secretReferencesIn } from '../../../src/project/secret-references.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

test('are found within a text, and nothing else is', () => {
  expect(secretReferencesIn('Bearer ${env:TOKEN}')).toEqual(['${env:TOKEN}'])
  expect(secretReferencesIn('secret://sinks/audit and ${env:A}')).toEqual(['secret://sinks/audit', '${env:A}'])
  for (const text of ['abc', '$TOKEN', '${TOKEN}', '${env:}', '${env:1A}', 'secret://', 'secret://../etc/passwd']) {
    expect(secretReferencesIn(text), text).toEqual([])
  }
})

test('are read from the environment and from the files of the folder of secrets', () => {
  const folder = temporaryFolder()
  mkdirSync(join(folder, 'sinks'))
  writeFileSync(join(folder, 'sinks', 'audit'), 'from a file\n')
  const lookup = defaultSecretLookup({ TOKEN: 'from the environment', VERDIGRAPH_SECRETS: folder })
  expect(resolveSecret('Bearer ${env:TOKEN}', lookup)).toEqual(ok('Bearer from the environment'))
  expect(resolveSecret('secret://sinks/audit', lookup)).toEqual(ok('from a file'))
  expect(resolveSecret('${env:TOKEN} secret://sinks/other', lookup)).toEqual(err('secret://sinks/other'))
  expect(resolveSecret('secret://sinks', lookup), 'a folder').toEqual(err('secret://sinks'))
})
