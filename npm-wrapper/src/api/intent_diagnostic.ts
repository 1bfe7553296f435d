/** Something that is wrong with the intents file, in the gate's answer to `list-intents`. */
export interface IntentDiagnostic {
  severity: 'error' | 'warning';
  line: number | null;
  column: number | null;
  message: string;
}
