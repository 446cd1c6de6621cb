// Functions with call frame information written by hand: void NAME(void (*probe)(void*), void* context), each calls
// `probe` once. What the tables say is true; what they use is unusual.
        .text

        .macro  function name
        .globl  \name
        .hidden \name
        .type   \name, @function
\name\():
        .cfi_startproc
        .endm
        .macro  end_function name
        .cfi_endproc
        .size   \name, . - \name
        .endm

// No table at all.
        .globl  frame_without_table
        .hidden frame_without_table
        .type   frame_without_table, @function
frame_without_table:
        subq    $24, %rsp
        movq    %rdi, %rax
        movq    %rsi, %rdi
        call    *%rax
        addq    $24, %rsp
        ret
        .size   frame_without_table, . - frame_without_table

// The CFA counted from a register that is neither the stack nor the frame pointer.
function frame_from_rbx
        pushq   %rbx
        .cfi_def_cfa_offset 16
        .cfi_offset %rbx, -16
        movq    %rsp, %rbx
        .cfi_def_cfa %rbx, 16
        subq    $32, %rsp
        movq    %rdi, %rax
        movq    %rsi, %rdi
        call    *%rax
        movq    %rbx, %rsp
        .cfi_def_cfa %rsp, 16
        popq    %rbx
        .cfi_def_cfa_offset 8
        ret
end_function frame_from_rbx

// The frame pointer saved far below where prologues save it.
function frame_pointer_saved_far
        subq    $200, %rsp
        .cfi_def_cfa_offset 208
        movq    %rbp, 8(%rsp)
        .cfi_offset %rbp, -200
        movq    $0x1234, %rbp
        movq    %rdi, %rax
        movq    %rsi, %rdi
        call    *%rax
        movq    8(%rsp), %rbp
        .cfi_restore %rbp
        addq    $200, %rsp
        .cfi_def_cfa_offset 8
        ret
end_function frame_pointer_saved_far

// The frame pointer used for something else and saved as usual: nothing may follow it.
function frame_pointer_misused
        pushq   %rbp
        .cfi_def_cfa_offset 16
        .cfi_offset %rbp, -16
        movq    $0x7fffffffffff, %rbp
        subq    $16, %rsp
        .cfi_adjust_cfa_offset 16
        movq    %rdi, %rax
        movq    %rsi, %rdi
        call    *%rax
        addq    $16, %rsp
        .cfi_adjust_cfa_offset -16
        popq    %rbp
        .cfi_restore %rbp
        .cfi_def_cfa_offset 8
        ret
end_function frame_pointer_misused

// The return address kept in another place than right below the CFA, as code that switches shadow stacks does.
function frame_return_address_moved
        pushq   %rbx
        .cfi_def_cfa_offset 16
        .cfi_offset %rbx, -16
        movq    8(%rsp), %rax
        subq    $32, %rsp
        .cfi_adjust_cfa_offset 32
        movq    %rax, (%rsp)
        .cfi_offset %rip, -48
        movq    %rdi, %rax
        movq    %rsi, %rdi
        call    *%rax
        .cfi_offset %rip, -8
        addq    $32, %rsp
        .cfi_adjust_cfa_offset -32
        popq    %rbx
        .cfi_def_cfa_offset 8
        .cfi_restore %rbx
        ret
end_function frame_return_address_moved

// States remembered and restored around an early return, several of them.
function frame_remembered
        pushq   %r12
        .cfi_def_cfa_offset 16
        .cfi_offset %r12, -16
        .cfi_remember_state
        testq   %rdi, %rdi
        jne     1f
        popq    %r12
        .cfi_def_cfa_offset 8
        ret
1:
        .cfi_restore_state
        pushq   %rbp
        .cfi_def_cfa_offset 24
        .cfi_offset %rbp, -24
        .cfi_remember_state
        movq    %rsp, %rbp
        .cfi_def_cfa_register %rbp
        testq   %rsi, %rsi
        jne     2f
        popq    %rbp
        .cfi_def_cfa %rsp, 16
        popq    %r12
        .cfi_def_cfa_offset 8
        ret
2:
        .cfi_restore_state
        subq    $8, %rsp
        .cfi_adjust_cfa_offset 8
        movq    %rdi, %rax
        movq    %rsi, %rdi
        call    *%rax
        addq    $8, %rsp
        .cfi_adjust_cfa_offset -8
        popq    %rbp
        .cfi_def_cfa_offset 16
        popq    %r12
        .cfi_def_cfa_offset 8
        ret
end_function frame_remembered

// Nobody called it, the table says: the walk ends here.
function frame_outermost
        .cfi_undefined %rip
        subq    $8, %rsp
        .cfi_def_cfa_offset 16
        movq    %rdi, %rax
        movq    %rsi, %rdi
        call    *%rax
        addq    $8, %rsp
        .cfi_def_cfa_offset 8
        ret
end_function frame_outermost

        .section .note.GNU-stack, "", @progbits
