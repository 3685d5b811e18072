// `npm run reference`: writes the generated references that a release contains and the repository does not: the AsyncAPI description of the
// events, and the railroad diagrams of the grammar. The argument is the folder; default: dist/reference.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import packageJson from '../../package.json' with { type: 'json' }
import { asyncApiDocument } from '../docs/asyncapi.ts'
import { diagramsText } from '../language-reference/diagrams.ts'

const folder = process.argv[2] ?? join(import.meta.dirname, '..', '..', 'dist', 'reference')
mkdirSync(folder, { recursive: true })
writeFileSync(
  join(folder, 'events.asyncapi.json'),
  `${JSON.stringify(asyncApiDocument(packageJson.version), null, 2)}\n`,
)
writeFileSync(join(folder, 'grammar-diagrams.html'), diagramsText())
