// Findings as SARIF 2.1.0, the format in which code hosts read the findings of checkers
// (https://docs.oasis-open.org/sarif/sarif/v2.1.0/).
import type { LintFinding } from './finding.ts'
import { lintRuleIds, lintRules } from './rules.ts'

/** A SARIF log with one run. */
export function toSarif(findings: readonly LintFinding[], version: string): object {
  const rules = lintRuleIds.map((id) => ({
    id,
    shortDescription: { text: lintRules[id].summary },
    help: { text: lintRules[id].advice },
    defaultConfiguration: { level: lintRules[id].severity },
  }))
  return {
    $schema: 'https://json.schemastore.org/sarif-2.1.0.json',
    version: '2.1.0',
    runs: [
      {
        tool: { driver: { name: 'verdigraph', version, rules } },
        columnKind: 'utf16CodeUnits',
        results: findings.map(({ rule, severity, file, line, column, end_line, end_column, message }) => ({
          ruleId: rule,
          level: severity,
          message: { text: message },
          // A finding about the command line has no place.
          ...(file !== '' && {
            locations: [
              {
                physicalLocation: {
                  artifactLocation: { uri: encodeURI(file) },
                  region: { startLine: line, startColumn: column, endLine: end_line, endColumn: end_column },
                },
              },
            ],
          }),
        })),
      },
    ],
  }
}
