// Finds secrets in the URLs of resolvers.
import { isMap, isScalar } from 'yaml'
import { parseYaml } from '../../kernel/json/yaml.ts'
import { secretParametersOf } from '../../kernel/text/url-secrets.ts'
import type { LanguageDocument } from '../source/policy-source.ts'
import type { RawFinding } from './finding.ts'

/** The findings of a file; none if it is not a resolver by its name. */
export function urlSecrets(document: LanguageDocument): readonly RawFinding[] {
  if (!/\.resolver\.(?:ya?ml|json)$/.test(document.file)) return []
  const root = parseYaml(document.text).contents
  const node = isMap(root) ? root.get('url', true) : null
  if (!isScalar(node) || typeof node.value !== 'string') return []
  const [start = 0, end = start] = node.range ?? []
  return secretParametersOf(node.value).map((name) => ({
    rule: 'secret-in-url',
    document,
    span: { start, end },
    message: urlSecretMessage(name),
  }))
}

/** The message about a query parameter. It does not contain the value. */
export function urlSecretMessage(name: string): string {
  return `url: the value of the query parameter \`${name}\` looks like a secret, which a file must not contain: send it in a header, as \`\${env:NAME}\` or \`secret://NAME\``
}
