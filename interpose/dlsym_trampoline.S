// dlsym, overridden. Names that do not begin with "cu" jump straight to the next dlsym with the caller's return
// address in place, since RTLD_NEXT and RTLD_DEFAULT mean the caller's. No lock, no allocation, no libc call here; works
// before any constructor ran.
//
//   void* dlsym(void* handle /* rdi */, const char* name /* rsi */)

        .text
        .globl  dlsym
        .type   dlsym, @function
        .p2align 4
dlsym:
        .cfi_startproc
        endbr64
        test    %rsi, %rsi
        jz      .Lpass
        cmpb    $'c', (%rsi)
        jne     .Lpass
        cmpb    $'u', 1(%rsi)
        jne     .Lpass
        mov     (%rsp), %rdx            // who asks
        push    %rdi
        .cfi_adjust_cfa_offset 8
        push    %rsi
        .cfi_adjust_cfa_offset 8
        sub     $8, %rsp                // 16-byte alignment
        .cfi_adjust_cfa_offset 8
        call    pincheck_dlsym_route    // rax: answer, rdx: 1 when it is one
        add     $8, %rsp
        .cfi_adjust_cfa_offset -8
        pop     %rsi
        .cfi_adjust_cfa_offset -8
        pop     %rdi
        .cfi_adjust_cfa_offset -8
        test    %edx, %edx
        jz      .Lpass
        ret
.Lpass:
        mov     pincheck_next_dlsym(%rip), %rax
        test    %rax, %rax
        jz      .Lfind
        jmp     *%rax
.Lfind:
        push    %rdi
        .cfi_adjust_cfa_offset 8
        push    %rsi
        .cfi_adjust_cfa_offset 8
        sub     $8, %rsp
        .cfi_adjust_cfa_offset 8
        call    pincheck_find_dlsym     // rax: the next dlsym
        add     $8, %rsp
        .cfi_adjust_cfa_offset -8
        pop     %rsi
        .cfi_adjust_cfa_offset -8
        pop     %rdi
        .cfi_adjust_cfa_offset -8
        jmp     *%rax
        .cfi_endproc
        .size   dlsym, .-dlsym
        .section .note.GNU-stack, "", @progbits
