// The kinds of documents that the editor knows: their fields as texts, and the body that they stand for.

/** The members that all documents of the editor share. */
export interface PageDocument {
  readonly id: string
  readonly name: string
  readonly display_name: string
  readonly description: string
  readonly create_time: string
  readonly update_time: string
  readonly updated_by: string
}

/** A policy or a knowledge query. */
export interface PageStatusDocument extends PageDocument {
  readonly status: DocumentStatusName
}

/** Whether a document is used. A DRAFT is not checked. */
type DocumentStatusName = 'ACTIVE' | 'INACTIVE' | 'DRAFT'

/** The fields of an editor, as the user types them. */
export type FormTexts = Readonly<Record<string, string>>

/** The body of a request, or the problems of the fields. */
export type FormBody = { readonly body: Readonly<Record<string, unknown>> } | { readonly problems: readonly string[] }

/** A kind of documents. */
export interface DocumentKindView<T extends PageDocument> {
  /** Of `/configs/v1/{path}`. */
  readonly path: 'authorization-policies' | 'knowledge-queries' | 'models'
  readonly noun: 'policy' | 'knowledge query' | 'model'
  /** The parameter of the address. */
  readonly parameter: 'policy' | 'query' | 'model'
  /** The tab that leads to the document; null: the first one. */
  readonly list: 'queries' | 'model' | null
  readonly empty: FormTexts
  formOf(document: T): FormTexts
  /** The members without name and project. */
  bodyOf(form: FormTexts): FormBody
  /** The document for reading, line by line: for differences. */
  textOf(form: FormTexts): string
}

/** The lines of the shared members. */
export function sharedLines({ display_name, description, status }: FormTexts): string[] {
  return [
    ...(display_name ? [`display name: ${display_name}`] : []),
    ...(description ? [`description: ${description}`] : []),
    ...(status === undefined ? [] : [`status: ${status}`]),
  ]
}

/** A member with a text of several lines. */
export function blockLines(title: string, text: string | undefined): string[] {
  if (text === undefined || text.trim() === '') return []
  return [`${title}:`, ...text.split('\n').map((line) => `  ${line}`)]
}
