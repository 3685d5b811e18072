// All scenarios of this folder.
import { readdirSync, readFileSync } from 'node:fs'
import { readScenario, type Scenario } from './read-scenario.ts'

const folder = new URL('./', import.meta.url)
export const scenarios: readonly Scenario[] = readdirSync(folder)
  .filter((file) => file.endsWith('.scenario.yaml'))
  .sort()
  .map((file) => readScenario(file.replace('.scenario.yaml', ''), readFileSync(new URL(file, folder), 'utf8')))
