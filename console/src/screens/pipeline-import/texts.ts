import { defineTexts, pluralEn, pluralRu } from '../../i18n/texts.js'

export const importTexts = defineTexts(
  {
    title: 'Import YAML',
    pipelines: 'Pipelines',
    lead: 'Pipelines as files, in the words of the API: one, several documents, or a list under “pipelines:”. First you see what would change; then you decide.',
    yaml: 'YAML',
    choose: 'Choose files…',
    plan: 'Plan',
    planned: 'What would change',
    notPlanned: 'Nothing is planned yet. Nothing is saved before you say so.',
    example: 'Use an example',
    mistakes: {
      syntax: (line: number, what: string) => `Line ${line}: ${what}`,
      shape: (line: number) =>
        `Line ${line}: must be a mapping: a pipeline, or a list of them under “pipelines:”.`,
      nameless: (line: number) => `Line ${line}: a pipeline has no name.`,
      elsewhere: (line: number, field: string) =>
        `Line ${line}: ${field} speaks of something beside the file. Only the command can look there: vitrina apply.`,
    },
    outcomes: {
      create: 'new',
      update: 'changes',
      unchanged: 'unchanged',
      undecided: 'to be decided',
      refused: 'refused',
    },
    fields: (n: number) => pluralEn(n, '# field', '# fields'),
    fate: {
      none: 'No checkpoint yet: nothing to lose.',
      kept: 'The checkpoint is kept; nothing is read again.',
      reset: 'The checkpoint goes back to the start; everything is read again.',
      undecided:
        'The checkpoint speaks of the query as it was. Change this pipeline on its own page, where you can decide what happens to it.',
    },
    apply: (n: number) => pluralEn(n, 'Apply # change', 'Apply # changes'),
    nothingToApply: 'There is nothing to apply.',
    done: 'saved',
    notDone: 'not saved',
    didApply: (n: number) => pluralEn(n, '# pipeline saved', '# pipelines saved'),
  },
  {
    title: 'Импорт YAML',
    pipelines: 'Пайплайны',
    lead: 'Пайплайны в виде файлов, словами API: один, несколько документов или список под «pipelines:». Сначала видно, что изменится; решаете вы.',
    yaml: 'YAML',
    choose: 'Выбрать файлы…',
    plan: 'Спланировать',
    planned: 'Что изменится',
    notPlanned: 'Пока ничего не спланировано. Без вашего решения ничего не сохранится.',
    example: 'Взять пример',
    mistakes: {
      syntax: (line: number, what: string) => `Строка ${line}: ${what}`,
      shape: (line: number) =>
        `Строка ${line}: нужен словарь: пайплайн или список пайплайнов под «pipelines:».`,
      nameless: (line: number) => `Строка ${line}: у пайплайна нет имени.`,
      elsewhere: (line: number, field: string) =>
        `Строка ${line}: ${field} ссылается на то, что лежит рядом с файлом. Это может только команда: vitrina apply.`,
    },
    outcomes: {
      create: 'новый',
      update: 'изменится',
      unchanged: 'без изменений',
      undecided: 'нужно решить',
      refused: 'отказано',
    },
    fields: (n: number) => pluralRu(n, '# поле', '# поля', '# полей'),
    fate: {
      none: 'Отметки ещё нет: терять нечего.',
      kept: 'Отметка сохранится; ничего не будет прочитано снова.',
      reset: 'Отметка вернётся к началу; всё будет прочитано снова.',
      undecided:
        'Отметка относится к прежнему запросу. Измените этот пайплайн на его странице: там можно решить, что с ней делать.',
    },
    apply: (n: number) =>
      pluralRu(n, 'Применить # изменение', 'Применить # изменения', 'Применить # изменений'),
    nothingToApply: 'Применять нечего.',
    done: 'сохранён',
    notDone: 'не сохранён',
    didApply: (n: number) =>
      pluralRu(n, 'Сохранён # пайплайн', 'Сохранено # пайплайна', 'Сохранено # пайплайнов'),
  },
)
