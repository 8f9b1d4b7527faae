import { defineTexts } from '../../i18n/texts.js'

export const tableTexts = defineTexts(
  { next: 'Next row', previous: 'Previous row', open: 'Open row', pick: 'Select row' },
  { next: 'Следующая строка', previous: 'Предыдущая строка', open: 'Открыть строку', pick: 'Выбрать строку' },
)
