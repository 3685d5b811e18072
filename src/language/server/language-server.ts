// The language server: diagnostics, completion, hover and formatting for policies and Cypher in an editor, by the Language Server
// Protocol 3.17 (https://microsoft.github.io/language-server-protocol/).
import {
  CompletionItemKind,
  type Connection,
  DiagnosticSeverity,
  type InitializeResult,
  MarkupKind,
  type Range,
  TextDocumentSyncKind,
  TextDocuments,
} from 'vscode-languageserver'
import { TextDocument } from 'vscode-languageserver-textdocument'
import { namesDefinedIn } from '../../kernel/text/cypher-names.ts'
import { modelStart } from '../../model/model-file.ts'
import { modelSymbols } from '../../model/stored-model.ts'
import { formattingEdits } from '../format/format-document.ts'
import type { DataNames } from '../lint/data-names.ts'
import type { LintFinding } from '../lint/finding.ts'
import { lint } from '../lint/lint.ts'
import { nearestModel, ProjectModels } from '../lint/project-models.ts'
import { isModelFile, type LanguageDocument, type PolicySource, readPolicies } from '../source/policy-source.ts'
import { type CompletionKind, completionsAt, insertedText } from './complete.ts'
import { definitionHover, hoverAt } from './hover.ts'

/** The environment of the server. */
interface LanguageServerDeps {
  readonly version: string
  /** Reads the policy files of the folders that the editor has opened; `file` is a URI. */
  readFolders(uris: readonly string[]): readonly LanguageDocument[]
  /** The names of the data; null: unknown. */
  readNames(): Promise<DataNames | null>
  /** Called with a message for the author that belongs to no file. */
  report(message: string): void
}

/** Pause after a change before files are checked again, in milliseconds. */
const CHECK_DELAY_MS = 50

const completionKinds: Readonly<Record<CompletionKind, CompletionItemKind>> = {
  label: CompletionItemKind.Class,
  'relationship-type': CompletionItemKind.Interface,
  property: CompletionItemKind.Property,
  parameter: CompletionItemKind.Constant,
  variable: CompletionItemKind.Variable,
  function: CompletionItemKind.Function,
  keyword: CompletionItemKind.Keyword,
}

/** Serves a connection. The caller lets it listen. */
export function serveLanguage(connection: Connection, deps: LanguageServerDeps): void {
  const server = new LanguageServer(connection, deps)
  connection.onInitialize(({ rootUri, workspaceFolders }) => {
    server.folders = workspaceFolders?.map(({ uri }) => uri) ?? (rootUri === null ? [] : [rootUri])
    return server.initialized()
  })
  connection.onInitialized(() => void server.start())
  connection.onDidChangeWatchedFiles(() => server.reload())
  connection.onCompletion(({ textDocument, position }) => server.complete(textDocument.uri, position))
  connection.onHover(({ textDocument, position }) => server.hover(textDocument.uri, position))
  connection.onDocumentFormatting(({ textDocument }) => server.format(textDocument.uri))
}

type EditorPosition = { readonly line: number; readonly character: number }

class LanguageServer {
  folders: readonly string[] = []
  private readonly connection: Connection
  private readonly deps: LanguageServerDeps
  private readonly documents = new TextDocuments(TextDocument)
  private names: DataNames | null = null
  private stored: readonly LanguageDocument[] = []
  /** Files whose diagnostics the editor shows. */
  private shown = new Set<string>()
  private timer: ReturnType<typeof setTimeout> | null = null

  constructor(connection: Connection, deps: LanguageServerDeps) {
    this.connection = connection
    this.deps = deps
    this.documents.onDidChangeContent(() => this.schedule())
    this.documents.onDidClose(() => this.reload())
    this.documents.listen(connection)
  }

  initialized(): InitializeResult {
    return {
      serverInfo: { name: 'verdigraph', version: this.deps.version },
      capabilities: {
        textDocumentSync: TextDocumentSyncKind.Incremental,
        completionProvider: { triggerCharacters: [':', '.', '$', '|', '{'] },
        hoverProvider: true,
        documentFormattingProvider: true,
      },
    }
  }

  async start(): Promise<void> {
    try {
      this.names = await this.deps.readNames()
    } catch (failure) {
      this.deps.report(failure instanceof Error ? failure.message : String(failure))
    }
    this.reload()
  }

  reload(): void {
    this.stored = this.deps.readFolders(this.folders)
    this.schedule()
  }

  complete(uri: string, position: EditorPosition): { label: string; kind: CompletionItemKind; insertText?: string }[] {
    const model = this.modelAt(uri, position)
    const place = model === null ? this.placeIn(uri, position) : null
    const found =
      model ?? (place?.source.cypher == null ? null : { text: place.source.cypher.text, offset: place.offset })
    if (found === null) return []
    const completions = completionsAt(found.text, found.offset, this.namesFor(uri, found.text))
    return completions.map((one) => {
      const inserted = insertedText(one)
      return {
        label: one.text,
        kind: completionKinds[one.kind],
        ...(inserted !== one.text && { insertText: inserted }),
      }
    })
  }

  hover(uri: string, position: EditorPosition): { contents: { kind: MarkupKind; value: string } } | null {
    const model = this.modelAt(uri, position)
    const place = model === null ? this.placeIn(uri, position) : null
    const project = this.models().of(uri)
    const value =
      model !== null
        ? definitionHover(model.text, model.offset, project)
        : place === null
          ? null
          : hoverAt(place.source, place.offset, this.names, project)
    return value === null || value === '' ? null : { contents: { kind: MarkupKind.Markdown, value } }
  }

  format(uri: string): { range: Range; newText: string }[] {
    const document = this.documents.get(uri)
    if (document === undefined) return []
    return formattingEdits({ file: uri, text: document.getText() }).map(({ span, text }) => ({
      range: { start: document.positionAt(span.start), end: document.positionAt(span.end) },
      newText: text,
    }))
  }

  private models(): ProjectModels {
    return new ProjectModels(nearestModel(this.allDocuments()))
  }

  /** The names of the data and of the model of a file. `text`: may be a model that is being written. */
  private namesFor(uri: string, text: string): DataNames | null {
    const model = this.models().of(uri)
    const declared = modelSymbols({ ok: true, value: model })
    const defined = namesDefinedIn(text)
    if (model === null && defined.length === 0) return this.names
    const { label, type, property } = this.names ?? { label: new Set(), type: new Set(), property: new Set() }
    return {
      label: new Set([...declared.symbolNames('label'), ...label]),
      type: new Set([...defined, ...declared.symbolNames('type'), ...type]),
      property: new Set([...declared.symbolNames('property'), ...property]),
    }
  }

  /** The text of a model and the offset of a position in it; null: the file is no model, or the position is in its front matter. */
  private modelAt(uri: string, position: EditorPosition): { readonly text: string; readonly offset: number } | null {
    const document = this.documents.get(uri)
    if (document === undefined || !isModelFile({ file: uri })) return null
    const text = document.getText()
    const start = modelStart(text)
    const offset = document.offsetAt(position) - start
    return offset < 0 ? null : { text: text.slice(start), offset }
  }

  /** The files that the editor has open, and the others of its folders. */
  private allDocuments(): readonly LanguageDocument[] {
    const open = this.documents.all().map((document) => ({ file: document.uri, text: document.getText() }))
    return [...open, ...this.stored.filter(({ file }) => !open.some((document) => document.file === file))]
  }

  /** The policy whose Cypher contains a position, and the offset in its Cypher. */
  private placeIn(
    uri: string,
    position: EditorPosition,
  ): { readonly source: PolicySource; readonly offset: number } | null {
    const document = this.documents.get(uri)
    if (document === undefined) return null
    const at = document.offsetAt(position)
    for (const source of readPolicies({ file: uri, text: document.getText() }).policies) {
      const { cypher } = source
      if (cypher === null || at < cypher.offsetAt(0) || at > cypher.offsetAt(cypher.text.length)) continue
      let [low, high] = [0, cypher.text.length]
      while (low < high) {
        const middle = (low + high) >> 1
        if (cypher.offsetAt(middle) < at) low = middle + 1
        else high = middle
      }
      return { source, offset: low }
    }
    return null
  }

  private schedule(): void {
    if (this.timer !== null) clearTimeout(this.timer)
    this.timer = setTimeout(() => {
      this.timer = null
      this.check()
    }, CHECK_DELAY_MS)
  }

  private check(): void {
    const documents = this.allDocuments()
    const findings = Map.groupBy(lint({ documents, names: this.names, actions: [] }), ({ file }) => file)
    const files = new Set([...this.documents.all().map(({ uri }) => uri), ...findings.keys()])
    for (const uri of new Set([...files, ...this.shown])) {
      const diagnostics = (findings.get(uri) ?? []).map(toDiagnostic)
      void this.connection.sendDiagnostics({ uri, diagnostics })
    }
    this.shown = files
  }
}

function toDiagnostic({ line, column, end_line, end_column, severity, rule, message }: LintFinding) {
  return {
    range: {
      start: { line: line - 1, character: column - 1 },
      end: { line: end_line - 1, character: end_column - 1 },
    },
    severity: severity === 'error' ? DiagnosticSeverity.Error : DiagnosticSeverity.Warning,
    code: rule,
    source: 'verdigraph',
    message,
  }
}
